import { setImmediate as nextTurn } from 'node:timers/promises';
import pg from 'pg';
import { pino } from 'pino';
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import { createSignals, type Signals } from '../../src/work/signal.ts';
import { createDatabase } from '../world/database.ts';

const log = pino({ level: 'silent' });
const never = new AbortController().signal;

let database: Awaited<ReturnType<typeof createDatabase>>;
const started: Signals[] = [];
beforeAll(async () => {
  database = await createDatabase();
});
afterEach(async () => {
  for (const signals of started.splice(0)) await signals.stop();
});
afterAll(() => database.drop());

describe('a hint', () => {
  test('reaches the listeners of its topic here before anything else happens, and no others', async () => {
    const signals = createSignals({ url: database.url, log });
    const heard = listen(signals, ['a', 'b']);
    signals.touch('a');
    signals.touch('a');
    expect(heard).toEqual([]);
    await Promise.resolve();
    expect(heard).toEqual(['a']);
  });

  test('reaches another process, and comes back to nobody', async () => {
    const [near, far] = [await start(), await start()];
    const [heardNear, heardFar] = [listen(near, ['a', 'b']), listen(far, ['a', 'b'])];
    near.touch('a');
    await vi.waitFor(() => expect(heardFar).toEqual(['a']));
    // What the second process sends after it comes after it.
    far.touch('b');
    await vi.waitFor(() => expect(heardNear).toContain('b'));
    expect(heardNear).toEqual(['a', 'b']);
    expect(heardFar).toEqual(['a', 'b']);
  });

  test('is not lost on the others when a listener throws', async () => {
    const signals = createSignals({ url: database.url, log });
    signals.subscribe('a', () => {
      throw new Error('not my day');
    });
    const heard = listen(signals, ['a']);
    signals.touch('a');
    await Promise.resolve();
    expect(heard).toEqual(['a']);
  });

  test('is not given to a listener that has left', async () => {
    const signals = createSignals({ url: database.url, log });
    const heard: string[] = [];
    const leave = signals.subscribe('a', () => heard.push('a'));
    leave();
    signals.touch('a');
    await Promise.resolve();
    expect(heard).toEqual([]);
  });
});

test('ten thousand touches make few notifications', async () => {
  const [near, far] = [await start(), await start()];
  const payloads: string[] = [];
  const witness = new pg.Client({ connectionString: database.url });
  await witness.connect();
  try {
    witness.on('notification', ({ payload }) => payloads.push(payload ?? ''));
    await witness.query('listen replica_signal');
    const heard = listen(far, ['topic 0', 'topic 99', 'last']);
    for (let n = 0; n < 10_000; n++) near.touch(`topic ${n % 100}`);
    near.touch('last');
    await vi.waitFor(() => expect(heard).toHaveLength(3));
    await vi.waitFor(() => expect(payloads.join()).toContain('last'));
    expect(payloads.length).toBeLessThanOrEqual(3);
  } finally {
    await witness.end();
  }
});

test('the way from one process to another is short', async () => {
  const [near, far] = [await start(), await start()];
  const tookMs: number[] = [];
  for (let round = 0; round < 50; round++) {
    const arrived = far.wait('a', never, 10_000);
    const beganAt = performance.now();
    near.touch('a');
    await arrived;
    tookMs.push(performance.now() - beganAt);
  }
  tookMs.sort((a, b) => a - b);
  const [median = 0, late = 0] = [tookMs[24], tookMs[47]];
  process.stdout.write(`hint to another process: p50 ${median.toFixed(1)} ms, p95 ${late.toFixed(1)} ms\n`);
});

describe('a connection that is lost', () => {
  test('comes back, calls every listener once, and goes on as before', async () => {
    const [near, far] = [await start(), await start()];
    const heard = listen(far, ['a', 'b']);
    await terminate();
    await vi.waitFor(() => expect(heard).toEqual(['a', 'b']), { timeout: 5_000 });
    heard.length = 0;
    await vi.waitFor(() => {
      near.touch('a');
      expect(heard).toContain('a');
    });
    expect(heard).not.toContain('b');
  });

  test('keeps what was touched before it stood for the others', async () => {
    const [near, far] = [createSignals({ url: database.url, log }), await start()];
    started.push(near);
    const heard = listen(far, ['early']);
    near.touch('early');
    await near.start();
    await vi.waitFor(() => expect(heard).toEqual(['early']));
  });

  test('keeps nobody from touching, listening and stopping when it never stood', async () => {
    const away = createSignals({ url: 'postgres://nobody@127.0.0.1:1/nothing', log });
    started.push(away);
    await away.start();
    const heard = listen(away, ['a']);
    for (let n = 0; n < 30_000; n++) away.touch(`topic ${n}`);
    away.touch('a');
    await Promise.resolve();
    expect(heard).toEqual(['a']);
  });
});

describe('a wait', () => {
  test('ends at a hint, after its time, or when it is aborted', async () => {
    const signals = createSignals({ url: database.url, log });
    const hinted = signals.wait('a', never, 60_000);
    signals.touch('a');
    await hinted;
    await signals.wait('a', never, 1);
    await signals.wait('a', AbortSignal.abort(), 60_000);
    const leaving = new AbortController();
    const left = signals.wait('a', leaving.signal, 60_000);
    leaving.abort();
    await left;
  });

  test('of a follower ends at once after a hint that came between two waits', async () => {
    const signals = createSignals({ url: database.url, log });
    using follower = signals.follow('a');
    signals.touch('a');
    await Promise.resolve();
    await follower.next(never, 60_000);
    const leaving = new AbortController();
    let isOver = false;
    const second = follower.next(leaving.signal, 60_000).then(() => {
      isOver = true;
    });
    await nextTurn();
    expect(isOver).toBe(false);
    leaving.abort();
    await second;
  });
});

async function start(): Promise<Signals> {
  const signals = createSignals({ url: database.url, log });
  started.push(signals);
  await signals.start();
  return signals;
}

function listen(signals: Signals, topics: string[]): string[] {
  const heard: string[] = [];
  for (const topic of topics) signals.subscribe(topic, () => heard.push(topic));
  return heard;
}

/** Ends the connections of all signals, as a database server that restarts does. */
async function terminate(): Promise<void> {
  const operator = new pg.Client({ connectionString: database.url });
  await operator.connect();
  try {
    await operator.query(
      `select pg_terminate_backend(pid) from pg_stat_activity
        where application_name = 'replica signals' and datname = current_database()`,
    );
  } finally {
    await operator.end();
  }
}
