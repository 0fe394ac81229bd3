import { createHmac, randomUUID } from 'node:crypto';
import type { gitEventOperations } from '../../../src/contract/git-event.ts';
import { newId } from '../../../src/lib/ids.ts';
import { recordedAt } from '../../world/github-event.ts';
import { mergeRequestEvent } from '../../world/gitlab-event.ts';
import type { Examples } from '../example.ts';
import type { Fixture } from '../fixture.ts';

const secret = 'shared-with-the-host';

export const gitEventExamples: Examples<typeof gitEventOperations> = {
  receiveGithubEvent: async (f) => {
    const url = await connect(f, 'github');
    const body = JSON.stringify(recordedAt(url, 'pull_request', 'opened'));
    return {
      headers: {
        'x-github-event': 'pull_request',
        'x-github-delivery': randomUUID(),
        'x-hub-signature-256': `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`,
      },
      body,
    };
  },
  receiveGitlabEvent: async (f) => {
    const url = await connect(f, 'gitlab');
    return {
      headers: { 'x-gitlab-token': secret, 'idempotency-key': randomUUID() },
      body: JSON.stringify(mergeRequestEvent({ url })),
    };
  },
};

/** A repository on a host that is not there: nobody looks at it, and it is heard of all the same. */
async function connect({ org, stage }: Fixture, kind: 'github' | 'gitlab'): Promise<string> {
  const host = `${kind}.example.com`;
  const setting = { kind, api_url: `https://${host}/api`, webhook_secret: secret };
  await org.call('PUT', `/v1/organization/git-hosts/${host}`, setting);
  const id = newId();
  const url = `https://${host}/acme/${id}`;
  const at = new Date();
  const times = { checked_at: at, created_at: at, updated_at: at };
  await stage.world.db
    .insertInto('repository')
    .values({ id, organization_id: org.id, name: id, url, url_key: url, status: 'ready', ...times })
    .execute();
  return url;
}
