import { expect, test } from 'vitest';
import type { EngineEvent, EngineReport } from '../engine/protocol.ts';
import { gatherEvents } from './gather-events.ts';

const at = '2026-07-01T10:00:00.000Z';
const numbered = (reports: EngineReport[]) =>
  reports.map((report, index) => ({ seq: index + 1, at, ...report }) as EngineEvent);
const output = (runId: string, text: string): EngineReport => ({
  type: 'hook.output',
  payload: { runId, text },
});
const finished = (runId: string): EngineReport => ({
  type: 'hook.finished',
  payload: { runId, exitCode: 0, timedOut: false },
});
const look: EngineReport = { type: 'repositories.changed', payload: { repositories: [] } };
const joined = (runId: string, ...texts: string[]) => ({ type: 'hook.output', runId, texts });

test.each<[string, EngineReport[], unknown[]]>([
  ['nothing', [], []],
  ['output of one hook is one', [output('a', '1'), output('a', '2')], [joined('a', '1', '2')]],
  [
    'output of another hook, or after something else, begins anew',
    [output('a', '1'), output('b', '2'), finished('b'), output('b', '3')],
    [joined('a', '1'), joined('b', '2'), { seq: 3, at, ...finished('b') }, joined('b', '3')],
  ],
  [
    'the last look at the repositories stays where it is',
    [look, output('a', '1'), look, output('a', '2')],
    [joined('a', '1'), { seq: 3, at, ...look }, joined('a', '2')],
  ],
  [
    'output before and after an earlier look is one',
    [output('a', '1'), look, output('a', '2'), look],
    [joined('a', '1', '2'), { seq: 4, at, ...look }],
  ],
])('%s', (_, reports, expected) => {
  expect(gatherEvents(numbered(reports))).toEqual(expected);
});
