import { existsSync } from 'node:fs';
import { expect, vi } from 'vitest';
import type { RecordedRequest } from '../world/scripted-model.ts';
import type { AgentStage, StartedTurn, TurnRecord } from './agent-stage.ts';
import type { AgentUnderTest } from './agent-under-test.ts';

/** All that was said live, or thought. */
export function said({ deltas }: TurnRecord, type: 'text' | 'thinking' = 'text'): string {
  return deltas.flatMap((delta) => (delta.type === type ? [String(delta.text)] : [])).join('');
}

/** What the model was asked last, title and the like aside. */
export function lastRequest({ model }: AgentStage, { request }: AgentUnderTest): RecordedRequest['body'] {
  const last = model.requests().findLast((recorded) => request.isMain(recorded));
  if (last === undefined) throw new Error('the model was not asked');
  return last.body;
}

export function waitForFile(file: string): Promise<void> {
  return vi.waitFor(() => expect(existsSync(file)).toBe(true), { timeout: 20_000, interval: 20 });
}

export function waitForDelta(turn: StartedTurn, type: string): Promise<void> {
  return vi.waitFor(() => expect(turn.deltas().map((delta) => delta.type)).toContain(type), {
    timeout: 20_000,
    interval: 10,
  });
}
