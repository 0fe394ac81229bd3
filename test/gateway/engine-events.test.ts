import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { newId } from '../../src/lib/ids.ts';
import { type EngineAnswer, type EngineStage, type StagedSandbox, startEngineStage } from './engine-stage.ts';

let stage: EngineStage;
beforeAll(async () => {
  stage = await startEngineStage();
});
afterAll(() => stage?.close());

const jsonOf = ({ status, body }: EngineAnswer) => ({ status, ...JSON.parse(body.toString()) });
const at = new Date().toISOString();
const started = (seq: number) => ({ seq, at, type: 'engine.started', payload: { version: '1' } });
const step = (bootId: string, more: object = {}) => ({
  type: 'boot.step',
  payload: { bootId, step: 'files', startedAt: at, durationMs: 1, outcome: 'done', detail: null, ...more },
});
const stepsOf = ({ replicaId }: StagedSandbox) =>
  stage.world.db
    .selectFrom('replica_step')
    .select(['step', 'started_at'])
    .where('replica_id', '=', replicaId)
    .orderBy('id')
    .execute();

describe('events of an engine', () => {
  test('are taken once and in order', async () => {
    const sandbox = await stage.sandbox();
    const post = (...seqs: number[]) => sandbox.post({ incarnation: 1, events: seqs.map(started) });
    expect(jsonOf(await post(2))).toEqual({ status: 409, acked: 0 });
    expect(jsonOf(await post(1, 2))).toEqual({ status: 200, acked: 2 });
    expect(jsonOf(await post(1, 2, 3))).toEqual({ status: 200, acked: 3 });
    expect((await sandbox.events()).map(({ type }) => type)).toEqual(Array(3).fill('engine.ready'));
  });

  test('of another incarnation stay with it, for the next one to send', async () => {
    const sandbox = await stage.sandbox({ incarnation: 2 });
    expect(jsonOf(await sandbox.post({ incarnation: 2, events: [started(1)] }))).toEqual({
      status: 200,
      acked: 1,
    });
    for (const incarnation of [1, 3]) {
      const answer = await sandbox.post({ incarnation, events: [started(2)] });
      expect(jsonOf(answer)).toEqual({ status: 409, acked: 1 });
    }
    expect(await sandbox.acked()).toBe(1);
    expect(jsonOf(await sandbox.post({ incarnation: 2, events: [started(2)] }))).toEqual({
      status: 200,
      acked: 2,
    });
  });
});

describe('what no engine says', () => {
  const deep = (levels: number) => '['.repeat(levels) + ']'.repeat(levels);
  const turn = { turnId: newId(), chatId: newId() };
  const event = (type: string, payload: object) => JSON.stringify({ seq: 1, at, type, payload });

  test.each([
    ['an exit code of 2^40', event('hook.finished', { runId: newId(), exitCode: 2 ** 40, timedOut: false })],
    ['a step of a million seconds', event('boot.step', step(newId(), { durationMs: 1.1e9 }).payload)],
    ['a year beyond', event('boot.step', step(newId(), { startedAt: '+275760-09-13T00:00:00Z' }).payload)],
    ['nothing', 'null'],
    ['a text', '"text"'],
    ['depth alone', deep(200_000)],
    ['a wrong number', JSON.stringify({ seq: 2 ** 60, at, type: 'engine.started', payload: {} })],
  ])('is refused: %s', async (_, text) => {
    const sandbox = await stage.sandbox();
    expect((await sandbox.post(`{"incarnation":1,"events":[${text}]}`)).status).toBe(400);
    expect((await sandbox.post(text)).status).toBe(400);
    expect(await sandbox.acked()).toBe(0);
  });

  test.each([
    [
      'a message of 200,000 levels',
      `{"seq":1,"at":"${at}","type":"turn.message","payload":{"turnId":"${turn.turnId}","chatId":"${turn.chatId}","type":"a","payload":{"a":${deep(200_000)}}}}`,
    ],
    [
      'an unknown type of 200,000 levels',
      `{"seq":1,"at":"${at}","type":"turn.new","payload":${deep(200_000)}}`,
    ],
    ['NUL and half a character', event('engine.started', { version: 'a\0b\ud800' })],
    ['a name that is no name', event('engine.started', JSON.parse('{"version":"1","__proto__":{"a":1}}'))],
  ])('is taken as far as it can be kept: %s', async (_, text) => {
    const sandbox = await stage.sandbox();
    expect(jsonOf(await sandbox.post(`{"incarnation":1,"events":[${text}]}`))).toEqual({
      status: 200,
      acked: 1,
    });
  });

  test('is refused where only the database notices it, and what came before is not taken either', async () => {
    const sandbox = await stage.sandbox();
    const { db } = stage.world;
    // Everything that is known to be wrong is refused before, so the database is made to dislike one name more.
    const named = `kept_${sandbox.replicaId.replaceAll('-', '')}`;
    await sql`create function ${sql.ref(named)}() returns trigger language plpgsql as $$
      begin perform 1 / (case when new.step = 'divide' then 0 else 1 end); return new; end $$`.execute(db);
    await sql`create trigger ${sql.ref(named)} before insert on replica_step
      for each row execute function ${sql.ref(named)}()`.execute(db);
    try {
      const refused = await sandbox.report(step(sandbox.bootId), step(sandbox.bootId, { step: 'divide' }));
      expect(refused.status).toBe(400);
      expect([await sandbox.acked(), await stepsOf(sandbox)]).toEqual([0, []]);
    } finally {
      await sql`drop function ${sql.ref(named)}() cascade`.execute(db);
    }
  });
});

describe('steps of a boot', () => {
  test('are kept up to 500, however many batches they come in', async () => {
    const sandbox = await stage.sandbox({ state: 'waking' });
    for (let batch = 0; batch < 3; batch += 1) {
      const steps = Array.from({ length: 200 }, (_, n) => step(sandbox.bootId, { step: `${batch}-${n}` }));
      expect((await sandbox.report(...steps)).status).toBe(200);
    }
    const kept = (await stepsOf(sandbox)).map((row) => row.step);
    expect([kept.length, kept[0], kept.at(-1)]).toEqual([500, '0-0', '2-99']);
    await sandbox.report(step(newId(), { step: 'of another boot' }));
    expect(await stepsOf(sandbox)).toHaveLength(500);
  });

  test.each(['0001-01-01T00:00:00Z', '9999-12-31T23:59:59Z'])(
    'that began at %s began now',
    async (startedAt) => {
      const sandbox = await stage.sandbox({ state: 'waking' });
      await sandbox.report(step(sandbox.bootId, { startedAt }));
      const [kept] = await stepsOf(sandbox);
      expect(Math.abs(Date.now() - (kept?.started_at.getTime() ?? 0))).toBeLessThan(60_000);
    },
  );
});
