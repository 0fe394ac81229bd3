import { constants } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import type { JsonObject } from '../agent.ts';
import { objectAt, textAt } from '../json-fields.ts';

export type RolloutLine = { type: string; payload: JsonObject };

export type Rollout = {
  /**
   * Lines that were written since the last look; not all of them when they are more than is good for the memory, and none
   * when there are no whole ones.
   */
  read(): Promise<RolloutLine[]>;
};

/**
 * Follows the file in which codex keeps a conversation, from its present end. It is where codex's own messages are as
 * codex means them: what it says while it works is in another form, and less.
 */
export async function openRollout(file: string, { maxBytes = MAX_BYTES } = {}): Promise<Rollout> {
  let at = await useFile(file, sizeOf, 0);
  return {
    read: () =>
      useFile(
        file,
        async (handle) => {
          for (;;) {
            const piece = await readPiece(handle, { at, maxBytes });
            const end = piece.lastIndexOf(NEWLINE) + 1;
            // A line that is longer than the bound is passed over.
            const taken = end === 0 && piece.length === maxBytes ? maxBytes : end;
            if (taken === 0) return [];
            at += taken;
            const lines = piece.toString('utf8', 0, end).split('\n').flatMap(parseLine);
            if (lines.length > 0) return lines;
          }
        },
        [],
      ),
  };
}

/**
 * Whether a line belongs into the history: what codex says and does, and not what it was told, by the user or by
 * itself.
 */
export function isHistory({ type, payload }: RolloutLine): boolean {
  if (type === 'response_item') return !toldRoles.has(textAt(payload, 'role'));
  return type === 'event_msg' && !toldEvents.has(textAt(payload, 'type'));
}

const toldRoles = new Set(['developer', 'system', 'user']);
const toldEvents = new Set(['thread_settings_applied', 'user_message']);

const MAX_BYTES = 32 * 1_048_576;
const NEWLINE = 0x0a;

async function useFile<T>(file: string, use: (handle: FileHandle) => Promise<T>, missing: T): Promise<T> {
  const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = constants;
  let handle: FileHandle;
  try {
    handle = await open(file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  } catch (error) {
    // There is no file before there is something to write.
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return missing;
    throw error;
  }
  try {
    return (await handle.stat()).isFile() ? await use(handle) : missing;
  } finally {
    await handle.close();
  }
}

async function sizeOf(handle: FileHandle): Promise<number> {
  return (await handle.stat()).size;
}

async function readPiece(
  handle: FileHandle,
  { at, maxBytes }: { at: number; maxBytes: number },
): Promise<Buffer> {
  const length = Math.min(Math.max((await sizeOf(handle)) - at, 0), maxBytes);
  const { buffer, bytesRead } = await handle.read(Buffer.allocUnsafe(length), 0, length, at);
  return buffer.subarray(0, bytesRead);
}

function parseLine(line: string): RolloutLine[] {
  try {
    const record = JSON.parse(line) as JsonObject;
    return [{ type: textAt(record, 'type'), payload: objectAt(record, 'payload') }];
  } catch {
    return [];
  }
}
