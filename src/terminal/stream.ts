import { setTimeout as delay } from 'node:timers/promises';
import type { z } from 'zod';
import { AppError } from '../contract/error.ts';
import type { terminalOperations } from '../contract/terminal.ts';
import type { Db } from '../db/database.ts';
import type { SseFrame } from '../http/sse.ts';
import type { EngineTerminals } from './engine-terminals.ts';
import { createTextCutter } from './output-text.ts';

type TerminalEvent = z.input<(typeof terminalOperations)['streamTerminal']['answers'][200]>;
export type TerminalFrame = SseFrame<TerminalEvent>;

type Parts = {
  engine: Pick<EngineTerminals, 'follow' | 'list'>;
  /** The sandbox in which the terminal is, as long as it runs; refuses when it does not. */
  sandboxOf: (db: Db) => Promise<string>;
};
type Wanted = { terminalId: string; offset: number; encoding: 'utf8' | 'base64' };

/** How often in a row a stream that brings nothing is opened again. */
const MAX_FAILURES = 3;
const PAUSE_MS = 250;

/** What a terminal shows as events. A connection that breaks is opened again where it broke. */
export async function* streamTerminal(
  db: Db,
  { engine, sandboxOf }: Parts,
  { terminalId, offset, encoding, signal }: Wanted & { signal: AbortSignal },
): AsyncGenerator<TerminalFrame> {
  let position = offset;
  let isFirst = true;
  for (let failures = 0; !signal.aborted; ) {
    const at = { db, sandboxId: await sandboxOf(db), signal };
    const output = await engine.follow(at, terminalId, position);
    if (!output) {
      if (isFirst) throw new AppError('not_found', 'Terminal not found.');
      return yield exitFrame(null);
    }
    if (isFirst) yield { comment: 'open' };
    isFirst = false;
    if (output.offset > position) yield gapFrame(output.offset - position, output.offset);
    position = output.offset;
    try {
      for await (const frame of framesOf(output.bytes, { position, encoding })) {
        yield frame.frame;
        position = frame.position;
        failures = 0;
      }
      const ended = (await engine.list(at)).find(({ id }) => id === terminalId);
      return yield exitFrame(ended?.exitCode ?? null);
    } catch (error) {
      failures += 1;
      if (failures > MAX_FAILURES) throw error;
      // A terminal that breaks again and again must not be asked without a pause.
      await delay(PAUSE_MS, undefined, { signal });
    }
  }
}

type Positioned = { frame: TerminalFrame; position: number };

async function* framesOf(
  bytes: AsyncIterable<Buffer>,
  { position, encoding }: { position: number; encoding: Wanted['encoding'] },
): AsyncGenerator<Positioned> {
  let at = position;
  const frameOf = (piece: Buffer): Positioned => {
    at += piece.length;
    return { frame: outputFrame(piece, at, encoding), position: at };
  };
  if (encoding === 'base64') {
    for await (const piece of bytes) yield frameOf(piece);
    return;
  }
  const cutter = createTextCutter();
  for await (const piece of bytes) {
    const whole = cutter.take(piece);
    if (whole.length > 0) yield frameOf(whole);
  }
  if (cutter.rest().length > 0) yield frameOf(cutter.rest());
}

function outputFrame(piece: Buffer, offset: number, encoding: Wanted['encoding']): TerminalFrame {
  const data =
    encoding === 'base64'
      ? { data_base64: piece.toString('base64'), offset }
      : { data: piece.toString(), offset };
  return { id: String(offset), event: 'output', data };
}

function gapFrame(skipped: number, offset: number): TerminalFrame {
  return { id: String(offset), event: 'gap', data: { skipped_bytes: skipped, offset } };
}

function exitFrame(exitCode: number | null): TerminalFrame {
  return { event: 'exit', data: { exit_code: exitCode } };
}
