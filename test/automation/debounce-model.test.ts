import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { AutomationRow } from '../../src/automation/fire.ts';
import { transact } from '../../src/db/transact.ts';
import { newId } from '../../src/lib/ids.ts';
import { type DueStage, openDueStage } from './due-stage.ts';

const QUIET_SECONDS = 10;
const subjects = [null, 'repository#1', 'repository#2'];

/** What happens, each so many seconds after the thing before: an event, or a look of a process at what is due. */
type Step = { afterSeconds: number; plane: 0 | 1 } & (
  | { what: 'event'; subject: string | null }
  | { what: 'look' | 'kill' }
  /** An event that comes while both processes look. */
  | { what: 'together'; subject: string | null }
);

let stage: DueStage;
beforeAll(async () => {
  stage = await openDueStage({ planes: 2 });
});
afterAll(() => stage?.close());

const subject = fc.constantFrom(...subjects);
const timing = {
  // Around the quiet time, on it, and just beside it.
  afterSeconds: fc.constantFrom(0, 1, 5, 9, 10, 11, 30),
  plane: fc.constantFrom<0 | 1>(0, 1),
};
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 5, arbitrary: fc.record({ ...timing, what: fc.constant('event' as const), subject }) },
  { weight: 3, arbitrary: fc.record({ ...timing, what: fc.constantFrom('look' as const, 'kill' as const) }) },
  { weight: 2, arbitrary: fc.record({ ...timing, what: fc.constant('together' as const), subject }) },
);

test('runs are those that the times of the events say, whoever looks, restarts or dies in between', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 20 }), async (steps) => {
      const automation = await stage.insert({ debounce_seconds: QUIET_SECONDS });
      const { events, clock } = await play(automation, steps);
      stage.setClock(new Date(clock.getTime() + QUIET_SECONDS * 1_000));
      await stage.planes[1]?.releaseDue();
      expect((await stage.causesOf(automation.id)).sort()).toEqual(modelRuns(events).sort());
      expect(await waitingOf(automation.id)).toBe(0);
    }),
    { numRuns: 30 },
  );
});

type Event = { cause: string; subject: string | null; atMs: number };

async function play(
  automation: AutomationRow,
  steps: readonly Step[],
): Promise<{ events: Event[]; clock: Date }> {
  const events: Event[] = [];
  let clock = new Date('2026-01-01T00:00:00Z');
  for (const given of steps) {
    clock = new Date(clock.getTime() + given.afterSeconds * 1_000);
    stage.setClock(clock);
    const plane = stage.planes[given.plane];
    if (!plane) throw new Error('there is no such control plane');
    if (given.what === 'look') await plane.releaseDue();
    if (given.what === 'kill') await plane.dieReleasing();
    if (given.what !== 'event' && given.what !== 'together') continue;
    const event = { cause: newId(), subject: given.subject, atMs: clock.getTime() };
    events.push(event);
    const fire = transact(plane.db, (tx) =>
      plane.firing.fire(tx, automation, {
        triggerType: 'custom',
        payload: { cause: event.cause },
        cause: event.cause,
        subject: event.subject,
      }),
    );
    const looks = given.what === 'together' ? stage.planes.map((each) => each.releaseDue()) : [];
    await Promise.all([fire, ...looks]);
  }
  return { events, clock };
}

/** An event leads to a run unless another one of the same subject comes before the quiet time is over. */
function modelRuns(events: readonly Event[]): string[] {
  return events
    .filter((event, index) => {
      const next = events.slice(index + 1).find((other) => other.subject === event.subject);
      return next === undefined || next.atMs - event.atMs >= QUIET_SECONDS * 1_000;
    })
    .map(({ cause }) => cause);
}

async function waitingOf(automationId: string): Promise<number> {
  const rows = await stage.db
    .selectFrom('automation_debounce')
    .select('subject')
    .where('automation_id', '=', automationId)
    .execute();
  return rows.length;
}
