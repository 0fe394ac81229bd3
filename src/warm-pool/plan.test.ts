import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type PoolSituation, planPool, retryDelayMs } from './plan.ts';

const at = new Date('2026-01-01T00:00:00Z');
const soon = new Date(at.getTime() + 1_000);
const before = new Date(at.getTime() - 1_000);

function pool(text: string, rest: Partial<PoolSituation> = {}): PoolSituation {
  const workspaces = text
    .split(' ')
    .filter(Boolean)
    .map((word, index) => {
      const [status = '', generation = '2'] = word.split('@');
      return { id: `w${index}`, status: status as 'ready', generation: Number(generation) };
    });
  return {
    isEnabled: true,
    generation: 2,
    targetSize: 2,
    nextRetryAt: null,
    claimedAt: null,
    hasLayer: true,
    workspaces,
    ...rest,
  };
}

describe('the plan of a warm pool', () => {
  it.each<[string, PoolSituation, string]>([
    ['builds when there is no snapshot', pool('', { hasLayer: false }), 'build'],
    ['builds one at a time', pool('warming', { hasLayer: false }), ''],
    ['waits for the snapshot', pool('snapshotting', { hasLayer: false }), ''],
    ['fills from the snapshot', pool(''), 'fill'],
    ['fills the second', pool('ready'), 'fill'],
    ['fills one at a time', pool('warming'), ''],
    ['is content', pool('ready ready'), ''],
    ['lets go of what is too much', pool('ready ready ready'), 'expire w2'],
    ['keeps older ones until it has better', pool('ready@1 ready@1', { hasLayer: false }), 'build'],
    [
      'drops what is warming for an older generation',
      pool('warming@1', { hasLayer: false }),
      'expire w0, build',
    ],
    ['replaces older ones one by one', pool('ready@1 ready@1 ready'), 'expire w1, fill'],
    ['drops the last older one', pool('ready@1 ready ready'), 'expire w0'],
    ['waits after a failure', pool('', { nextRetryAt: soon }), ''],
    ['waits while a claim becomes a replica', pool('ready', { claimedAt: at }), ''],
    ['fills soon after a claim', pool('ready', { claimedAt: before }), 'fill'],
    ['goes on after the wait', pool('', { nextRetryAt: before }), 'fill'],
    ['empties when it is off', pool('ready warming', { isEnabled: false }), 'expire w0, expire w1'],
    ['empties when it has no size', pool('ready', { targetSize: 0 }), 'expire w0'],
  ])('%s', (_name, situation, expected) => {
    const actions = planPool(situation, at).map((action) =>
      action.kind === 'expire' ? `expire ${action.id}` : action.kind,
    );
    expect(actions.join(', ')).toBe(expected);
  });

  it('never lets a fresh ready workspace go below the target, and never begins more than one', () => {
    const workspace = fc.record({
      id: fc.uuid(),
      status: fc.constantFrom('warming' as const, 'snapshotting' as const, 'ready' as const),
      generation: fc.integer({ min: 1, max: 3 }),
    });
    fc.assert(
      fc.property(
        fc.array(workspace, { maxLength: 12 }),
        fc.integer({ min: 1, max: 4 }),
        fc.boolean(),
        (workspaces, targetSize, hasLayer) => {
          const situation = {
            isEnabled: true,
            generation: 3,
            targetSize,
            nextRetryAt: null,
            claimedAt: null,
            hasLayer,
            workspaces,
          };
          const actions = planPool(situation, at);
          const gone = new Set(actions.flatMap((action) => (action.kind === 'expire' ? [action.id] : [])));
          const fresh = workspaces.filter(({ status, generation }) => status === 'ready' && generation === 3);
          const left = fresh.filter(({ id }) => !gone.has(id));
          expect(left.length).toBeGreaterThanOrEqual(Math.min(fresh.length, targetSize));
          expect(actions.filter(({ kind }) => kind !== 'expire').length).toBeLessThanOrEqual(1);
        },
      ),
    );
  });
});

describe('the wait after failures', () => {
  it.each([
    [1, 5_000],
    [2, 10_000],
    [5, 80_000],
    [30, 3_600_000],
  ])('%i failures: %i ms', (count, ms) => {
    expect(retryDelayMs(count)).toBe(ms);
  });
});
