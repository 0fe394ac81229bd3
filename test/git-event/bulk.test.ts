import { createHmac } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createRandom } from '../chaos/random.ts';
import { until } from '../world/world.ts';
import { expectedRuns, planRequests, type Request, tenants } from './bulk-plan.ts';
import { type EventStage, startEventStage } from './stage.ts';

const TOTAL = 10_000;
const AT_ONCE = 16;
/** Much more than it needs by itself: other tests run beside it. */
const LIMIT_MS = 300_000;
/** A failure names its seed, which REPLICA_TEST_SEED repeats. */
const seed = Number(process.env.REPLICA_TEST_SEED ?? Date.now() % 1_000_000);

let stage: EventStage;
/** Names of the plan, by ids. */
const names = new Map<string, string>();
beforeAll(async () => {
  stage = await startEventStage();
  for (const { name, secret, urls, automations } of tenants) {
    const organizationId = await stage.organization({ host: 'git.example.com', secret });
    const repositoryIds = new Map<string, string>();
    for (const url of urls) {
      const id = await stage.repository(organizationId, url);
      repositoryIds.set(url, id);
      names.set(id, url);
    }
    for (const { name: automation, enabled, listens } of automations) {
      const triggers = listens.map(({ url, ...config }) => {
        const named = url === undefined ? {} : { repository_ids: [repositoryIds.get(url) ?? ''] };
        return { type: 'github' as const, config: { ...config, ...named } };
      });
      names.set(await stage.automation(organizationId, { triggers, enabled }), `${name}/${automation}`);
    }
  }
});
afterAll(() => stage?.close());

test(
  `${TOTAL} events with repeats, in any order, some forged, lead to exactly the runs they must`,
  async () => {
    const requests = planRequests(createRandom(seed), TOTAL);
    expect(requests).toHaveLength(TOTAL);
    const processes = await Promise.all([stage.startProcess(), stage.startProcess()]);
    try {
      const wrong = await sendAll(requests);
      expect(wrong, `seed ${seed}`).toEqual([]);
      await until(async () => (await countEvents()) === 0, { timeoutMs: 60_000, intervalMs: 50 });
    } finally {
      for (const stop of processes) await stop();
    }
    const runs = await executions();
    expect(runs.length).toBeGreaterThan(1_000);
    expect(runs, `seed ${seed}`).toEqual(expectedRuns(requests));
  },
  LIMIT_MS,
);

/** The answers that are not what they must be. */
async function sendAll(requests: readonly Request[]): Promise<unknown[]> {
  const wrong: unknown[] = [];
  const waiting = requests.values();
  const sender = async () => {
    for (const request of waiting) {
      const answer = await send(request);
      const wanted = wantedAnswer(request);
      const got = [answer.statusCode, ...(wanted.length > 1 ? [answer.json()] : [])];
      if (JSON.stringify(got) !== JSON.stringify(wanted)) wrong.push({ got, wanted, request });
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, sender));
  return wrong;
}

function wantedAnswer({ happening, spoiled }: Request): unknown[] {
  if (spoiled === 'secret' || spoiled === 'byte') return [401];
  return [202, { accepted: spoiled === null && happening.events.length > 0 }];
}

function send({ happening, secret, spoiled }: Request) {
  const { payload, name, delivery } = happening;
  const repository = { ...payload.repository, clone_url: 'https://git.example.com/acme/unknown.git' };
  const body = JSON.stringify(spoiled === 'repository' ? { ...payload, repository } : payload);
  const key = spoiled === 'secret' ? `${secret}!` : secret;
  return stage.app.inject({
    method: 'POST',
    url: '/v1/integrations/github/webhook',
    headers: {
      'content-type': 'application/json',
      'x-github-event': name,
      'x-github-delivery': delivery,
      'x-hub-signature-256': `sha256=${createHmac('sha256', key).update(body).digest('hex')}`,
    },
    payload: spoiled === 'byte' ? body.replace('"marker"', '"Marker"') : body,
  });
}

async function executions(): Promise<string[]> {
  const { rows } = await stage.pool.query<{
    automation: string;
    marker: string;
    cause: string;
    subject: string;
  }>(
    `select automation_id as automation, trigger_payload ->> 'marker' as marker, cause, subject
       from automation_execution where status = 'pending'`,
  );
  return rows
    .map(({ automation, marker, cause, subject }) => {
      expect(cause).toBe(`github:${marker}`);
      const [repository = '', number] = subject?.split('#') ?? [];
      return `${names.get(automation)} ${marker} ${number ? `${names.get(repository)}#${number}` : '-'}`;
    })
    .sort();
}

async function countEvents(): Promise<number> {
  const { rows } = await stage.pool.query<{ events: number }>(
    'select count(*)::int as events from git_event',
  );
  return rows[0]?.events ?? 0;
}
