import { createHmac, randomUUID } from 'node:crypto';
import { expect } from 'vitest';
import { newId } from '../../src/lib/ids.ts';
import { type Recorded, recordedAt } from '../world/github-event.ts';
import type { ApiAnswer, Organization, World } from '../world/world.ts';
import { startAutomationStage } from './automation-stage.ts';

export type GitEventStage = Awaited<ReturnType<typeof startGitEventStage>>;
export type Home = Awaited<ReturnType<GitEventStage['organization']>>;
type Sending = { secret?: string; delivery?: string; headers?: Record<string, string> };

export const host = 'git.example.com';
/** Of GitLab, in the same organizations. */
export const otherHost = 'lab.example.com';

/** A service with organizations that have connected repositories and listen to what the hosts of those tell. */
export async function startGitEventStage() {
  const stage = await startAutomationStage();

  async function organization() {
    const home = await stage.organization();
    const secret = `secret-${newId()}`;
    await setHost(home.org, { host, kind: 'github', secret });
    await setHost(home.org, { host: otherHost, kind: 'gitlab', secret });
    const path = `acme/${newId()}`;
    const url = `https://${host}/${path}.git`;
    const labUrl = `https://${otherHost}/${path}.git`;
    return {
      ...home,
      secret,
      url,
      labUrl,
      repositoryId: await connect(home.org, url),
      labRepositoryId: await connect(home.org, labUrl),
      connect: (other: string) => connect(home.org, other),
      /** Sends a recorded event of GitHub as if it were of the repository. */
      tell: (name: string, fits?: Parameters<typeof recordedAt>[2], sending: Sending = {}) =>
        sendGithub(stage.world, name, recordedAt(url, name, fits), { secret, ...sending }),
      github: (name: string, payload: Recorded, sending: Sending = {}) =>
        sendGithub(stage.world, name, payload, { secret, ...sending }),
      gitlab: (payload: unknown, sending: Sending = {}) =>
        sendGitlab(stage.world, payload, { secret, ...sending }),
      /** Makes an automation that listens to events of GitHub. */
      listenTo: (event: string, config: object = {}, more: object = {}) =>
        home.create({ triggers: [{ type: 'github', config: { event, ...config } }], ...more }),
    };
  }

  /** Waits until every event is handed on, and shows what is kept of them. */
  async function kept() {
    await stage.world.drainJobs();
    const { rows } = await stage.world.pool.query<{ events: number; deliveries: number }>(
      `select (select count(*)::int from git_event) as events,
              (select count(*)::int from inbound_delivery) as deliveries`,
    );
    return rows[0];
  }

  return { ...stage, organization, kept };
}

export function sign(secret: string, body: string): string {
  return `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`;
}

/** A text goes as it is, anything else as JSON. */
export function sendGithub(
  world: World,
  name: string,
  payload: unknown,
  { secret, delivery = randomUUID(), headers = {} }: Sending,
): Promise<ApiAnswer> {
  const body = typeof payload === 'string' ? payload : JSON.stringify(payload);
  return world.call('POST', '/v1/integrations/github/webhook', body, {
    'x-github-event': name,
    'x-github-delivery': delivery,
    ...(secret !== undefined && { 'x-hub-signature-256': sign(secret, body) }),
    ...headers,
  });
}

function sendGitlab(
  world: World,
  payload: unknown,
  { secret, delivery = randomUUID(), headers = {} }: Sending,
): Promise<ApiAnswer> {
  return world.call('POST', '/v1/integrations/gitlab/webhook', payload, {
    ...(secret !== undefined && { 'x-gitlab-token': secret }),
    ...(delivery !== '' && { 'idempotency-key': delivery }),
    ...headers,
  });
}

export async function setHost(
  org: Organization,
  setting: { host: string; kind: 'github' | 'gitlab'; secret: string | null },
): Promise<void> {
  const { kind, secret } = setting;
  const { status } = await org.call('PUT', `/v1/organization/git-hosts/${setting.host}`, {
    kind,
    api_url: `https://${setting.host}/api`,
    webhook_secret: secret,
  });
  expect(status).toBe(200);
}

async function connect(org: Organization, url: string): Promise<string> {
  const { status, body } = await org.call('POST', '/v1/repositories', { name: newId(), url });
  expect(status, JSON.stringify(body)).toBe(201);
  return body.repository.id;
}
