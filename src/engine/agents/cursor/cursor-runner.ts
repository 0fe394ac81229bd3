import { endProcess } from '../../end-process.ts';
import type { JsonObject } from '../agent.ts';
import { readJsonLines } from '../json-lines.ts';
import {
  type CursorConversation,
  type CursorEnd,
  type CursorMessage,
  type CursorOpening,
  openCursorConversation,
} from './cursor-conversation.ts';

/** The word that starts the engine's program as the runner. */
export const CURSOR_RUNNER = 'cursor-runner';

/** What the engine tells the runner, one to a line. */
export type CursorOrder =
  | ({ order: 'open'; nodeOptions: string | null } & CursorOpening)
  | ({ order: 'work' } & CursorMessage)
  | { order: 'cancel' };

/** What the runner tells the engine. */
export type CursorReport =
  | { report: 'opened'; agentId: string }
  /** It could not be opened: what the SDK says of its error. */
  | { report: 'refused'; error: JsonObject }
  | { report: 'said'; message: object }
  | { report: 'notice'; text: string }
  | { report: 'ended'; status: CursorEnd['status']; error: JsonObject };

/**
 * A process between the engine and Cursor's SDK, which is a library, is large, and has the key: one for each chat, so that
 * it can be killed, and its memory is given back. Ends with the engine's end of the pipe.
 */
export async function runCursor(): Promise<void> {
  const report = takeOutput();
  let secret = '';
  let conversation = null as CursorConversation | null;

  async function open({ nodeOptions, ...opening }: Extract<CursorOrder, { order: 'open' }>): Promise<void> {
    secret = opening.apiKey;
    if (nodeOptions !== null) process.env.NODE_OPTIONS = nodeOptions;
    try {
      conversation = await openCursorConversation(opening);
      await report({ report: 'opened', agentId: conversation.agentId });
    } catch (error) {
      await report({ report: 'refused', error: describe(error, secret) });
    }
  }

  async function work(message: CursorMessage): Promise<void> {
    try {
      const result = await conversation?.work(message, {
        heard: (said) => report({ report: 'said', message: said }),
        notice: (text) => report({ report: 'notice', text }),
      });
      const { status = 'error', error = {} } = result ?? {};
      await report({ report: 'ended', status, error: describe(error, secret) });
    } catch (error) {
      await report({ report: 'ended', status: 'error', error: describe(error, secret) });
    }
  }

  // The SDK leaves some behind when a connection breaks; the run itself says what became of it.
  process.on('unhandledRejection', (error) => process.stderr.write(`${String(error)}\n`));
  for await (const line of readJsonLines(process.stdin, { maxBytes: MAX_LINE_BYTES, dropped: () => {} })) {
    const order = line as CursorOrder;
    if (order.order === 'open') await open(order);
    else if (order.order === 'work') void work(order);
    else void conversation?.cancel().catch(() => {});
  }
  endProcess(0);
}

/** The engine is trusted; a message may have many images. */
const MAX_LINE_BYTES = 256 * 1_048_576;

/** Keeps the standard output for reports; what the SDK writes there for people goes to where errors go. */
function takeOutput(): (report: CursorReport) => Promise<void> {
  const write = process.stdout.write.bind(process.stdout);
  process.stdout.write = process.stderr.write.bind(process.stderr) as typeof process.stdout.write;
  return (report) => {
    const { promise, resolve } = Promise.withResolvers<void>();
    write(`${JSON.stringify(report)}\n`, () => resolve());
    return promise;
  };
}

function describe(error: unknown, secret: string): JsonObject {
  const isObject = typeof error === 'object' && error !== null;
  const { name, code, status, message } = isObject ? (error as JsonObject) : { message: String(error) };
  const text = JSON.stringify({ name, code, status, message });
  return JSON.parse(secret === '' ? text : text.replaceAll(secret, '[key]')) as JsonObject;
}
