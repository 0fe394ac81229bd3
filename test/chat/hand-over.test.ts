import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { DISPATCH_TASK } from '../../src/chat/turns.ts';
import { newId } from '../../src/lib/ids.ts';
import { hostTask } from '../../src/sandbox/host.ts';
import { hasJob } from '../../src/work/has-job.ts';
import { type ImageHost, images, startImageHost } from '../world/image-host.ts';
import { openStage, type Stage, until } from './stage.ts';

let stage: Stage;
let host: ImageHost;
beforeAll(async () => {
  [stage, host] = await Promise.all([openStage(), startImageHost()]);
});
afterAll(async () => {
  await stage?.close();
  await host?.close();
});

type Replica = Awaited<ReturnType<Stage['replica']>>;
const isSent = (replica: Replica, id: string) =>
  until(async () => (await replica.messages()).some((message) => message.id === id && message.sent_at));

/** The jobs for a replica's chats. */
async function countJobs({ id }: Replica): Promise<number> {
  const { rows } = await sql`
    select from graphile_worker._private_jobs as job
      join graphile_worker._private_job_queues as queue on queue.id = job.job_queue_id
     where queue.queue_name = ${`chat:${id}`}`.execute(stage.db);
  return rows.length;
}

describe('a message that leaves its queue', () => {
  test('is handed over without a job', async () => {
    const replica = await stage.replica();
    const { messageId, status } = await replica.send('one');
    expect([status, await countJobs(replica)]).toEqual(['sent', 0]);
    await isSent(replica, messageId);
    await stage.isIdle(replica.id);
    expect(replica.engine.arrivals.map(({ id }) => id)).toEqual([messageId]);
  });

  test('is brought again soon when its engine could not be reached', async () => {
    const replica = await stage.replica();
    replica.engine.setReachable(false);
    const { messageId } = await replica.send('one');
    replica.engine.setReachable(true);
    await isSent(replica, messageId);
    expect(replica.engine.arrivals.map(({ id }) => id)).toEqual([messageId]);
  });

  test.each(['before it is sent', 'before it is noted as sent'] as const)(
    'is brought by a job, and taken once, when the process ended %s',
    async (dies) => {
      const killed = await openStage({ dies });
      try {
        const replica = await killed.replica();
        const { messageId } = await replica.send('one');
        await isSent(replica, messageId);
        expect(replica.engine.arrivals.map(({ id }) => id)).toEqual([messageId]);
      } finally {
        await killed.close();
      }
    },
  );
});

test('a message for a sandbox of another host is left to the jobs of that host, which come at once', async () => {
  const host_id = newId();
  const replica = await stage.replica('active', { host_id });
  await replica.send('one');
  const { rows } = await sql<{ name: string; is_due: boolean }>`
    select task.identifier as name, job.run_at <= now() as is_due from graphile_worker._private_jobs as job
      join graphile_worker._private_tasks as task on task.id = job.task_id
      join graphile_worker._private_job_queues as queue on queue.id = job.job_queue_id
     where queue.queue_name = ${`chat:${replica.id}`}`.execute(stage.db);
  expect(rows).toEqual([{ name: hostTask(DISPATCH_TASK, host_id), is_due: true }]);
});

test('a message that may not begin when it comes, and may a moment later, is sent and not queued', async () => {
  let asked = 0;
  const changing = await openStage({ mayStart: async () => ++asked > 1 });
  try {
    const replica = await changing.replica();
    const accepted = await replica.send('one');
    expect(accepted).toMatchObject({ status: 'sent', position: null });
    await isSent(replica, accepted.messageId);
  } finally {
    await changing.close();
  }
});

describe('a message with images that come slowly', () => {
  const imagesOf = (path: string) => [
    { type: 'image' as const, source: { type: 'url' as const, url: host.url(path) } },
  ];
  const stateOf = async (replica: Replica, id: string) =>
    (await replica.messages()).find((message) => message.id === id)?.state;

  test('holds up neither other chats of its replica nor its own interrupt', async () => {
    const replica = await stage.replica();
    const slow = await replica.send('look', { images: imagesOf('/silent') });
    await until(async () => host.open.size === 1);
    const other = await replica.send('go', { coding_agent: 'codex' });
    await isSent(replica, other.messageId);
    await replica.interrupt(slow.chatId);
    await until(async () => (await stateOf(replica, slow.messageId)) === 'interrupted');
    expect([...host.open]).toHaveLength(1);
    for (const answer of host.open) answer.writeHead(200).end(images['image/png']);
    const next = await replica.send('and then', { chat_id: slow.chatId });
    await isSent(replica, next.messageId);
    expect(replica.engine.arrivals.map(({ id }) => id)).toEqual([other.messageId, next.messageId]);
  });

  test('is sent once, with them, also when its job comes before they are there', async () => {
    const replica = await stage.replica();
    const before = host.requests.length;
    const { messageId } = await replica.send('look', { images: imagesOf('/silent') });
    await replica.held((tx, row) => stage.chats.turns.dispatch(tx, row));
    await until(async () => (await countJobs(replica)) === 0);
    await stage.isIdle(replica.id);
    for (const answer of host.open) answer.writeHead(200).end(images['image/png']);
    await isSent(replica, messageId);
    expect(host.requests).toHaveLength(before + 1);
    expect(replica.engine.arrivals).toMatchObject([{ id: messageId, images: [{ mediaType: 'image/png' }] }]);
  });

  test('is left to the next process when this one stops', async () => {
    const stopped = await openStage();
    try {
      const replica = await stopped.replica();
      await replica.send('look', { images: imagesOf('/silent') });
      await until(async () => host.open.size === 1);
      await stopped.handOver.close();
      await until(async () => host.open.size === 0);
      expect(await hasJob(stopped.db, `${DISPATCH_TASK}:${replica.id}`)).toBe(true);
    } finally {
      await stopped.close();
    }
  });
});
