import { fork } from 'node:child_process';
import { createHmac, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { newId } from '../../src/lib/ids.ts';
import { recordedAt } from '../world/github-event.ts';
import { until } from '../world/world.ts';
import { type EventStage, startEventStage } from './stage.ts';

const SECRET = 'known-to-both';

let stage: EventStage;
beforeAll(async () => {
  stage = await startEventStage();
});
afterAll(() => stage?.close());

test.each([
  ['before it is handed on', [1, 0]],
  ['before the commit', [1, 0]],
  ['after the commit', [0, 1]],
])('an event whose process is killed %s leads to one run, also when it comes again', async (moment, left) => {
  const organizationId = await stage.organization({ host: 'git.example.com', secret: SECRET });
  const url = `https://git.example.com/acme/${newId()}`;
  const repositoryId = await stage.repository(organizationId, url);
  const triggers = [{ type: 'github' as const, config: { event: 'pull_request.opened' as const } }];
  const automationId = await stage.automation(organizationId, { triggers });
  const count = async () => {
    const { rows } = await stage.pool.query<{ events: number; runs: number }>(
      `select (select count(*)::int from git_event where repository_id = $1) as events,
              (select count(*)::int from automation_execution where automation_id = $2) as runs`,
      [repositoryId, automationId],
    );
    return [rows[0]?.events, rows[0]?.runs];
  };
  const delivery = randomUUID();
  await send(url, delivery);
  const killed = fork(new URL('./killed-process.ts', import.meta.url), [stage.url, moment]);
  onTestFinished(() => void killed.kill('SIGKILL'));
  expect(await once(killed, 'exit')).toEqual([null, 'SIGKILL']);
  expect(await count()).toEqual(left);

  const stop = await stage.startProcess();
  try {
    await send(url, delivery);
    await until(async () => (await countJobs()) === 0, { timeoutMs: 20_000 });
    expect(await count()).toEqual([0, 1]);
  } finally {
    await stop();
  }
});

async function send(url: string, delivery: string): Promise<void> {
  const payload = JSON.stringify(recordedAt(`${url}.git`, 'pull_request', 'opened'));
  const { statusCode } = await stage.app.inject({
    method: 'POST',
    url: '/v1/integrations/github/webhook',
    headers: {
      'content-type': 'application/json',
      'x-github-event': 'pull_request',
      'x-github-delivery': delivery,
      'x-hub-signature-256': `sha256=${createHmac('sha256', SECRET).update(payload).digest('hex')}`,
    },
    payload,
  });
  expect(statusCode).toBe(202);
}

/** Jobs that hand on events, also those that a killed process has taken. */
async function countJobs(): Promise<number> {
  const { rows } = await stage.pool.query<{ jobs: number }>(
    `select count(*)::int as jobs from graphile_worker.jobs where task_identifier = 'git_event.take'`,
  );
  return rows[0]?.jobs ?? 0;
}
