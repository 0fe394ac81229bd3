import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { recordedEvents as all } from '../../test/world/github-event.ts';
import { githubTriggers, gitlabTriggers } from '../contract/automation.ts';
import { mapEvent, mappings } from './mapping.ts';

const actionOf = ({ name, payload }: (typeof all)[number]) =>
  payload.action === undefined ? name : `${name}.${payload.action}`;

describe('the mapping of events', () => {
  test('every recorded event of GitHub is one of these or means nothing', () => {
    const mapped: Record<string, string[]> = {};
    for (const event of all) {
      const means = mapEvent('github', event.name, event.payload);
      if (means) mapped[actionOf(event)] = [...means.triggers];
    }
    expect(mapped).toEqual({
      'pull_request.opened': ['pull_request.opened'],
      'pull_request.reopened': [],
      'pull_request.synchronize': ['pull_request.synchronize'],
      'pull_request.closed': ['pull_request.closed'],
      'pull_request_review_comment.created': [],
      'issues.opened': ['issues.opened'],
      'issues.labeled': ['issues.labeled'],
      'issue_comment.created': ['issue_comment.created'],
      'check_run.completed': [],
      push: ['push'],
    });
  });

  test('no recorded event of a kind that has triggers is lost', () => {
    const kinds = ['pull_request.opened', 'pull_request.synchronize', 'pull_request.closed', 'issues.opened'];
    const lost = all
      .filter((event) => [...kinds, 'issues.labeled', 'issue_comment.created'].includes(actionOf(event)))
      .filter(({ name, payload }) => !mapEvent('github', name, payload));
    expect(lost).toEqual([]);
  });

  test.each([
    ['github', githubTriggers],
    ['gitlab', gitlabTriggers],
  ] as const)('every trigger of %s comes from an event', (kind, triggers) => {
    const reached = new Set(Object.values(mappings[kind]).flatMap((row) => row.triggers));
    expect([...reached].sort()).toEqual([...triggers].sort());
  });

  test('the names of things that every object has are no events', () => {
    for (const name of ['constructor', 'toString', '__proto__', ''])
      for (const kind of ['github', 'gitlab'] as const) expect(mapEvent(kind, name, {})).toBeNull();
  });

  test('nothing throws, whatever stands in a payload', () => {
    const spoiled = fc.record({
      event: fc.constantFrom(...all),
      steps: fc.array(fc.nat(), { minLength: 1, maxLength: 5 }),
      // What cannot be turned into text is JSON, too.
      value: fc.oneof(fc.jsonValue(), fc.constant({ toString: 1 })),
    });
    fc.assert(
      fc.property(spoiled, ({ event, steps, value }) => {
        const payload = structuredClone(event.payload);
        spoil(payload, steps, value);
        mapEvent('github', event.name, payload);
        mapEvent('gitlab', event.name, payload);
      }),
      { numRuns: 500 },
    );
    fc.assert(
      fc.property(
        fc.constantFrom('merge_request', 'issue', 'note', 'pipeline', 'push', 'pull_request', 'status'),
        fc.jsonValue(),
        (name, payload) => {
          mapEvent('gitlab', name, payload);
          mapEvent('github', name, payload);
        },
      ),
    );
  });
});

/** Puts the value in a place that the steps lead to. */
function spoil(payload: Record<string, unknown>, [step = 0, ...rest]: number[], value: unknown): void {
  const keys = Object.keys(payload);
  const key = keys[step % keys.length];
  if (key === undefined) return;
  const child = payload[key];
  if (rest.length > 0 && typeof child === 'object' && child !== null)
    spoil(child as Record<string, unknown>, rest, value);
  else payload[key] = value;
}
