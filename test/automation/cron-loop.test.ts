import fc from 'fast-check';
import { sql } from 'kysely';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import type { CatchUp } from '../../src/automation/cron.ts';
import { dueAt } from '../../src/automation/cron.ts';
import { newId } from '../../src/lib/ids.ts';
import { type DueStage, openDueStage } from './due-stage.ts';

const START = Date.parse('2026-01-01T00:00:00Z');
const PERIOD_MS = 5 * 60_000;

let stage: DueStage;
beforeAll(async () => {
  stage = await openDueStage({ planes: 3 });
});
afterEach(async () => {
  await stage.db.deleteFrom('automation').execute();
});
afterAll(() => stage?.close());

/** An automation that fires every five minutes, for the first time five minutes after the start. */
function insertCron(config: object = {}, more: object = {}) {
  const first = new Date(START + PERIOD_MS);
  const trigger = {
    type: 'cron',
    config: { schedule: '*/5 * * * *', timezone: 'UTC', allow_overlap: true, ...config },
  };
  return stage.insert({
    triggers: JSON.stringify([trigger]),
    cron_next_fire_at: first,
    cron_due_at: first,
    ...more,
  });
}

const at = (seconds: number) => new Date(START + seconds * 1_000);
const rowOf = (id: string) =>
  stage.db.selectFrom('automation').selectAll().where('id', '=', id).executeTakeFirstOrThrow();
const causeOf = (fireMs: number) => `cron:${new Date(fireMs).toISOString()}`;
const lookTogether = () => Promise.all(stage.planes.map((plane) => plane.fireDue()));

test('a fire begins one run, however many control planes look at once', async () => {
  const automations = await Promise.all(Array.from({ length: 20 }, () => insertCron()));
  for (const seconds of [299, 300, 301, 600, 900]) {
    stage.setClock(at(seconds));
    await lookTogether();
    // What one control plane holds is passed over by others, so somebody has to come again.
    await lookTogether();
  }
  for (const { id } of automations) {
    expect(await stage.causesOf(id)).toEqual(
      [300, 600, 900].map((seconds) => causeOf(START + seconds * 1_000)),
    );
    expect(await rowOf(id)).toMatchObject({ cron_next_fire_at: at(1_200), cron_due_at: at(1_200) });
  }
});

test('runs are those of a model, whoever looks, and whenever they die', async () => {
  type Look = { afterSeconds: number; who: 'one' | 'all' | 'dying' };
  const look: fc.Arbitrary<Look> = fc.record({
    afterSeconds: fc.constantFrom(0, 30, 61, 150, 300, 301, 359, 361, 1_000, 3_000),
    who: fc.constantFrom('one', 'one', 'all', 'dying'),
  });
  const catchUps = fc.constantFrom<CatchUp>('latest', 'skip', 'all');
  await fc.assert(
    fc.asyncProperty(catchUps, fc.array(look, { minLength: 1, maxLength: 12 }), async (catchUp, looks) => {
      const { id } = await insertCron({ catch_up: catchUp });
      const expected: string[] = [];
      let clockMs = START;
      let nextMs = START + PERIOD_MS;
      for (const { afterSeconds, who } of looks) {
        clockMs += afterSeconds * 1_000;
        stage.setClock(new Date(clockMs));
        if (who === 'dying') {
          await stage.planes[0]?.dieFiring();
          // It gets to the end where there is nothing to begin.
          if (catchUp !== 'skip' || modelFires(nextMs, clockMs, catchUp).length > 0) continue;
        }
        if (who === 'all') await lookTogether();
        if (who === 'one') await stage.planes[1]?.fireDue();
        expected.push(...modelFires(nextMs, clockMs, catchUp).map(causeOf));
        while (nextMs <= clockMs) nextMs += PERIOD_MS;
      }
      expect(await stage.causesOf(id)).toEqual(expected);
      await stage.db.deleteFrom('automation').where('id', '=', id).execute();
    }),
    { numRuns: 30 },
  );
});

function modelFires(nextMs: number, clockMs: number, catchUp: CatchUp): number[] {
  const come: number[] = [];
  for (let fire = nextMs; fire <= clockMs; fire += PERIOD_MS) come.push(fire);
  const inTime = come.filter((fire) => clockMs - fire <= 60_000);
  if (catchUp === 'skip') return inTime;
  return catchUp === 'all' ? come.slice(-100) : come.slice(-1);
}

test('a fire begins later by its jitter, and the next one at the same distance', async () => {
  const id = newId();
  const fireAt = at(300);
  const due = dueAt(id, fireAt, 3_600);
  await insertCron({ jitter_seconds: 3_600, catch_up: 'all' }, { id, cron_due_at: due });
  stage.setClock(new Date(due.getTime() - 1));
  await stage.planes[0]?.fireDue();
  expect(await stage.causesOf(id)).toEqual([]);
  stage.setClock(due);
  await stage.planes[0]?.fireDue();
  expect(await stage.causesOf(id)).toEqual([causeOf(fireAt.getTime())]);
  expect(await rowOf(id)).toMatchObject({
    cron_next_fire_at: at(600),
    cron_due_at: new Date(due.getTime() + PERIOD_MS),
  });
});

test('a run that waits for the one before stands for the fires that come meanwhile', async () => {
  const { id } = await insertCron({ allow_overlap: false });
  for (const seconds of [300, 600, 900]) {
    stage.setClock(at(seconds));
    await stage.planes[0]?.fireDue();
    if (seconds === 300)
      await stage.db
        .updateTable('automation_execution')
        .set({ status: 'running' })
        .where('automation_id', '=', id)
        .execute();
  }
  expect(await stage.causesOf(id)).toEqual([300, 600].map((seconds) => causeOf(START + seconds * 1_000)));
});

test('a fire that only waits until others have begun is not missed', async () => {
  const automations = await Promise.all(Array.from({ length: 101 }, () => insertCron({ catch_up: 'skip' })));
  stage.setClock(at(300));
  let looks = 0;
  await stage.planes[0]?.lookUntilDone(() => at(300 + 40 * looks++));
  const begun = await Promise.all(automations.map(({ id }) => stage.causesOf(id)));
  expect(begun.flat()).toHaveLength(automations.length);
});

test.each([
  ['cannot be read', { schedule: 'every now and then' }],
  ['is in a zone that is gone', { timezone: 'Atlantis/Capital' }],
])('a schedule that %s switches its automation off, and no other', async (_why, config) => {
  const broken = await insertCron(config);
  const sound = await insertCron();
  stage.setClock(at(300));
  await stage.planes[0]?.fireDue();
  expect(await stage.causesOf(sound.id)).toHaveLength(1);
  expect(await rowOf(broken.id)).toMatchObject({
    enabled: false,
    disabled_reason: 'Its schedule cannot be read any more; set it anew.',
    cron_due_at: null,
  });
});

test('an automation that is switched off, or has no schedule any more, does not fire', async () => {
  const off = await insertCron({}, { enabled: false });
  const other = await insertCron({}, { triggers: JSON.stringify([{ type: 'custom', config: {} }]) });
  stage.setClock(at(300));
  await stage.planes[0]?.fireDue();
  expect(await stage.causesOf(off.id)).toEqual([]);
  expect(await stage.causesOf(other.id)).toEqual([]);
  expect((await rowOf(other.id)).cron_due_at).toBeNull();
});

test('one that the database refuses is put off, and does not hold up others', async () => {
  const refused = await insertCron();
  const others = await Promise.all([insertCron(), insertCron()]);
  await sql`
    create function refuse_one() returns trigger language plpgsql as $$
      begin raise exception 'refused'; end $$`.execute(stage.db);
  await sql`
    create trigger refuse_one before insert on automation_execution for each row
      when (new.automation_id = ${sql.lit(refused.id)}) execute function refuse_one()`.execute(stage.db);
  try {
    stage.setClock(at(300));
    await stage.planes[0]?.lookUntilDone();
    for (const { id } of others) expect(await stage.causesOf(id)).toHaveLength(1);
    expect(await rowOf(refused.id)).toMatchObject({ cron_next_fire_at: at(300), cron_due_at: at(310) });
  } finally {
    await sql`drop function refuse_one cascade`.execute(stage.db);
  }
  stage.setClock(at(310));
  await stage.planes[1]?.fireDue();
  expect(await stage.causesOf(refused.id)).toEqual([causeOf(START + 300_000)]);
});
