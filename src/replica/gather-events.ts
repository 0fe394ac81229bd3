import type { EngineEvent } from '../engine/protocol.ts';

/** What a hook wrote in several reports, one right after the other. */
export type HookOutput = { type: 'hook.output'; runId: string; texts: string[] };
export type GatheredEvent = Exclude<EngineEvent, { type: 'hook.output' }> | HookOutput;

/**
 * Puts together what can be taken at once, in the order in which it was said: output of one hook, and of several looks
 * at the repositories the last, which says all that the earlier ones do.
 */
export function gatherEvents(events: readonly EngineEvent[]): GatheredEvent[] {
  const lastLook = events.findLast(({ type }) => type === 'repositories.changed');
  const gathered: GatheredEvent[] = [];
  for (const event of events) {
    if (event.type === 'repositories.changed' && event !== lastLook) continue;
    if (event.type !== 'hook.output') {
      gathered.push(event);
      continue;
    }
    const { runId, text } = event.payload;
    const before = gathered.at(-1);
    if (before?.type === 'hook.output' && before.runId === runId) before.texts.push(text);
    else gathered.push({ type: 'hook.output', runId, texts: [text] });
  }
  return gathered;
}
