import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { recorded, recordedAt } from '../world/github-event.ts';
import type { ApiAnswer } from '../world/world.ts';
import { type GitEventStage, type Home, host, setHost, sign, startGitEventStage } from './git-event-stage.ts';

let stage: GitEventStage;
let home: Home;
beforeAll(async () => {
  stage = await startGitEventStage();
});
beforeEach(async () => {
  home = await stage.organization();
});
afterAll(() => stage?.close());

const OPENED = 'pull_request.opened';
const opened = () => recordedAt(home.url, 'pull_request', 'opened');
const taken = { accepted: true };
const ignored = { accepted: false };
const shown = ({ status, body }: ApiAnswer) => [status, body];

describe('an event of GitHub', () => {
  test('sets off a run, which gets all that GitHub said', async () => {
    const id = await home.listenTo(OPENED);
    const payload = opened();
    expect(shown(await home.github('pull_request', payload))).toEqual([202, taken]);
    const [execution] = await home.reach(id, ['completed']);
    expect(execution).toMatchObject({ trigger_type: 'github', trigger_payload: payload });
    const row = await home.replicaRow(execution?.workspace_id);
    expect(row).toMatchObject({ source: 'automation', organization_id: home.org.id });
    const [message] = await home.messagesOf(row.id);
    expect(message).toContain('## Trigger Payload');
    expect(message).toContain('"action": "opened"');
    expect((await stage.kept())?.events).toBe(0);
  });

  test('is known by the repository whatever the case of its URL, with and without .git', async () => {
    const id = await home.listenTo(OPENED);
    const payload = opened();
    payload.repository.clone_url = home.url.replace('/acme/', '/ACME/').replace(/\.git$/, '/');
    expect(shown(await home.github('pull_request', payload))).toEqual([202, taken]);
    await home.reach(id, ['completed']);
  });

  test('may come as a form, signed as it came', async () => {
    const id = await home.listenTo(OPENED);
    const payload = opened();
    payload.pull_request.title = 'Über & über = 100 % + 1';
    const form = new URLSearchParams({ payload: JSON.stringify(payload) }).toString();
    const headers = { 'content-type': 'application/x-www-form-urlencoded' };
    expect(shown(await home.github('pull_request', form, { headers }))).toEqual([202, taken]);
    const [execution] = await home.reach(id, ['completed']);
    expect(execution?.trigger_payload).toEqual(payload);
  });

  test('may hold what the database cannot keep, and more than it shall', async () => {
    const id = await home.listenTo(OPENED);
    const payload = opened();
    payload.pull_request.title = 'A\0B\ud800';
    payload.pull_request.body = 'long '.repeat(100_000);
    expect(shown(await home.github('pull_request', payload))).toEqual([202, taken]);
    const [execution] = await home.reach(id, ['completed']);
    const { pull_request: pull } = (execution?.trigger_payload ?? {}) as ReturnType<typeof opened>;
    expect(pull.title).toBe('A\u{fffd}B\u{fffd}');
    expect(pull.body).toMatch(/^long .*…$/);
    expect(pull.body.length).toBeLessThan(20_000);
  });

  test('counts once, however often and at once it comes', async () => {
    const id = await home.listenTo(OPENED);
    const delivery = randomUUID();
    const payload = opened();
    const send = () => home.github('pull_request', payload, { delivery });
    const answers = await Promise.all(Array.from({ length: 8 }, send));
    for (const answer of [...answers, await send()]) expect(shown(answer)).toEqual([202, taken]);
    await stage.kept();
    await home.reach(id, ['completed']);
    await home.github('pull_request', payload);
    await home.reach(id, ['completed', 'completed']);
  });

  test('that means nothing here is not kept', async () => {
    const before = await stage.kept();
    for (const [name, action] of [
      ['pull_request', 'labeled'],
      ['issues', 'closed'],
      ['star', 'created'],
      ['ping', undefined],
    ] as const) {
      const payload = recordedAt(home.url, name, action === 'closed' ? 'edited' : action);
      expect(shown(await home.github(name, payload)), name).toEqual([202, ignored]);
    }
    expect(await stage.kept()).toEqual(before);
  });

  test('may name no repository, as those of a whole organization do', async () => {
    const ping = recorded('ping', (payload) => payload.organization !== undefined);
    const headers = { 'x-github-enterprise-host': host };
    expect(shown(await home.github('ping', ping, { headers }))).toEqual([202, ignored]);
    expect((await home.github('ping', ping, { headers, secret: 'wrong' })).status).toBe(401);
  });

  test('may be of a repository that is not connected, or that somebody else has connected', async () => {
    const other = await stage.organization();
    const before = await stage.kept();
    for (const url of [`https://${host}/acme/unknown.git`, other.url]) {
      const payload = recordedAt(url, 'pull_request', 'opened');
      expect(shown(await home.github('pull_request', payload))).toEqual([202, ignored]);
      expect((await home.github('pull_request', payload, { secret: 'wrong' })).status).toBe(401);
    }
    expect(await stage.kept()).toEqual(before);
  });

  test('reaches everybody, also when somebody has connected its repository under many spellings', async () => {
    const other = await stage.organization();
    await setHost(home.org, { host, kind: 'github', secret: other.secret });
    const spellings = ['Acme', 'aCme', 'acMe', 'acmE', 'ACme', 'AcMe'].map((owner) =>
      other.url.replace('/acme/', `/${owner}/`),
    );
    for (const url of spellings) await home.connect(url);
    const id = await other.listenTo(OPENED);
    const here = await home.listenTo(OPENED);
    await other.tell('pull_request', 'opened');
    await other.reach(id, ['completed']);
    await stage.kept();
    expect(await home.list(here)).toHaveLength(1);
  });

  test('that is large is not read before its signature is proven', async () => {
    const large = `["${'x'.repeat(300_000)}`;
    expect((await home.github('push', large, { secret: 'wrong' })).status).toBe(401);
    expect((await home.github('push', large)).status).toBe(400);
    const payload = opened();
    payload.pull_request.body = 'long '.repeat(100_000);
    expect(shown(await home.github('pull_request', payload))).toEqual([202, taken]);
  });

  test('of github.com needs only the secret', async () => {
    const url = `https://github.com/acme/${randomUUID()}`;
    await home.connect(url);
    const setting = { kind: 'github', webhook_secret: 'known-to-github' };
    await home.org.call('PUT', '/v1/organization/git-hosts/github.com', setting);
    const id = await home.listenTo(OPENED);
    const payload = recordedAt(`${url}.git`, 'pull_request', 'opened');
    const secret = setting.webhook_secret;
    expect(shown(await home.github('pull_request', payload, { secret }))).toEqual([202, taken]);
    await home.reach(id, ['completed']);
  });
});

describe('an event is refused', () => {
  test('in the same way whatever is wrong with its signature, and leaves nothing', async () => {
    const id = await home.listenTo(OPENED);
    const before = await stage.kept();
    const payload = opened();
    const body = JSON.stringify(payload);
    const signature = sign(home.secret, body);
    const cases: Record<string, () => Promise<ApiAnswer>> = {
      'a wrong secret': () => home.github('pull_request', payload, { secret: 'wrong' }),
      'no signature': () => signed(body, {}),
      'the signature of another body': () => signed(`${body} `, { 'x-hub-signature-256': signature }),
      'one other byte': () =>
        signed(body.replace('"opened"', '"openeD"'), { 'x-hub-signature-256': signature }),
      'a signature without its name': () => signed(body, { 'x-hub-signature-256': signature.slice(7) }),
      'a signature of the older kind': () =>
        signed(body, { 'x-hub-signature-256': signature.replace('sha256', 'sha1') }),
      'a token in place of a signature': () => signed(body, { 'x-gitlab-token': home.secret }),
    };
    const refusals = [];
    for (const [what, send] of Object.entries(cases)) {
      const { status, body: refusal } = await send();
      expect(status, what).toBe(401);
      refusals.push(refusal);
    }
    const nowhere = recordedAt('https://nowhere.example.com/acme/app.git', 'pull_request', 'opened');
    refusals.push((await home.github('pull_request', nowhere)).body);
    const unknown = recordedAt(`https://${host}/acme/unknown.git`, 'pull_request', 'opened');
    refusals.push((await home.github('pull_request', unknown, { secret: 'wrong' })).body);
    await setHost(home.org, { host, kind: 'github', secret: null });
    refusals.push((await home.github('pull_request', payload)).body);
    expect(new Set(refusals.map((refusal) => JSON.stringify(refusal))).size).toBe(1);
    expect(await stage.kept()).toEqual(before);
    expect(await home.list(id)).toEqual([]);
  });

  test('when its host is one of another kind', async () => {
    const payload = recordedAt(home.labUrl, 'pull_request', 'opened');
    expect((await home.github('pull_request', payload)).status).toBe(401);
  });

  test.each([
    ['no JSON', '{"action": '],
    ['nothing', ''],
    ['nested without end', '['.repeat(100_000)],
    ['nested much', `{"action":${'['.repeat(65)}${']'.repeat(65)}}`],
    ['nested thousands deep', `{"action":${'{"a":'.repeat(20_000)}1${'}'.repeat(20_000)}}`],
    ['a form without a payload', 'payload='],
    ['a form of something else', 'pay=load'],
  ])('as malformed when it is %s', async (_, body) => {
    expect((await home.github('pull_request', body)).status).toBe(400);
  });

  test.each(['x-github-event', 'x-github-delivery'])('as malformed without %s', async (header) => {
    const { status, body } = await home.github('push', opened(), { headers: { [header]: '' } });
    expect([status, body.error.toLowerCase()]).toEqual([400, `the header ${header} is missing.`]);
  });

  test.each([
    '[]',
    'null',
    '7',
    '{"repository":7}',
    '{"repository":{"clone_url":{}}}',
    '{"repository":{"clone_url":"file:///etc"}}',
    '{"repository":null}',
  ])('when it is %s and of a host that nobody has set', async (body) => {
    const headers = { 'x-github-enterprise-host': 'nowhere.example.com' };
    expect((await home.github('push', body, { headers })).status).toBe(401);
  });
});

/** The recorded pull request, with other headers. */
function signed(body: string, headers: Record<string, string>): Promise<ApiAnswer> {
  return stage.world.call('POST', '/v1/integrations/github/webhook', body, {
    'x-github-event': 'pull_request',
    'x-github-delivery': randomUUID(),
    ...headers,
  });
}
