import { setTimeout as delay } from 'node:timers/promises';
import type { Reply } from './reply.ts';

/** The connection ends here because the script says so. */
export class DroppedError extends Error {
  override name = 'DroppedError';
}

/** A frame of server-sent events whose name is also in its data, as both providers with named events have it. */
export function namedFrame(type: string, data: object): string {
  return `event: ${type}\n${dataFrame({ type, ...data })}`;
}

export function dataFrame(data: object): string {
  return `data: ${JSON.stringify(data)}\n\n`;
}

/** The pieces of a text, at the pace of the reply. */
export async function* paced({ pieces, delayMs }: Reply, signal: AbortSignal): AsyncGenerator<string> {
  for (const piece of pieces) {
    signal.throwIfAborted();
    yield piece;
    if (delayMs > 0) await delay(delayMs, undefined, { signal });
  }
}
