import type { ServerResponse } from 'node:http';
import { AppError } from '../contract/error.ts';
import { goneSignal } from './answer.ts';
import { createCounter, createSlots } from './slots.ts';

type Upload = { sandboxId: string; bytes: number; response: ServerResponse };

/** What an engine sends at once: events, a canvas item and the work of one repository. */
const PER_SANDBOX = 3;
/** How many bodies above a size may be in memory at once; each of them several times while it is written. */
const SIZES = [
  { aboveBytes: 8_000_000, atOnce: 2 },
  { aboveBytes: 1_000_000, atOnce: 4 },
];
const WAIT_LIMIT_MS = 10_000;

/**
 * Bounds the memory that the bodies of all sandboxes take. A sandbox that sends too much at once is refused, a large
 * body waits for its turn before any of it is read; an engine repeats what is refused like this.
 */
export function createUploads() {
  const perSandbox = createCounter(PER_SANDBOX);
  const sizes = SIZES.map(({ aboveBytes, atOnce }) => ({ aboveBytes, slots: createSlots(atOnce) }));

  /** Does the work with a body while there is room for it. */
  async function hold<T>(upload: Upload, work: () => Promise<T>): Promise<T> {
    const leave = perSandbox.take(upload.sandboxId);
    if (!leave)
      throw new AppError('rate_limited', 'This sandbox sends too much at once; wait for an answer.');
    try {
      const free = await takeSlot(upload);
      try {
        return await work();
      } finally {
        free?.();
      }
    } finally {
      leave();
    }
  }

  async function takeSlot({ bytes, response }: Upload): Promise<(() => void) | undefined> {
    const size = sizes.find(({ aboveBytes }) => bytes > aboveBytes);
    if (!size) return undefined;
    const late = AbortSignal.timeout(WAIT_LIMIT_MS);
    try {
      return await size.slots.take(AbortSignal.any([goneSignal(response), late]));
    } catch (error) {
      if (!late.aborted) throw error;
      throw new AppError('rate_limited', 'Too many large bodies are on their way; try again shortly.');
    }
  }

  return { hold };
}
