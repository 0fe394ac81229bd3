import { type IncomingMessage, STATUS_CODES, request as send } from 'node:http';
import { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { AppError } from '../contract/error.ts';
import { type Forwarding, gaveNoAnswer, MAX_HEADER_BYTES } from './forward.ts';

type Opening = Omit<Forwarding, 'signal'> & {
  socket: Duplex;
  /** What the caller has sent besides the request. */
  head: Buffer;
  /** Called for everything that the caller sends. */
  onUse: () => void;
};
type Answer = { incoming: IncomingMessage; program?: Duplex; head?: Buffer };

/** After one side has said its last word, the other one may take this long. */
const LAST_WORD_MS = 10_000;
const KEEP_ALIVE_MS = 60_000;

/** Opens a WebSocket to a program and carries bytes both ways until one side ends it. */
export async function openWebSocket(opening: Opening): Promise<void> {
  const { socket } = opening;
  const { incoming, program, head } = await ask(opening);
  const isOpen = program !== undefined;
  const ending = isOpen ? ['connection', 'Upgrade', 'upgrade', 'websocket'] : ['connection', 'close'];
  socket.write(headOf(incoming.statusCode ?? 502, [...opening.headersOf(incoming), ...ending]), 'latin1');
  if (!isOpen) {
    await pipeline(incoming, socket).catch(() => socket.destroy());
    return;
  }
  if (head && head.length > 0) program.unshift(head);
  if (opening.head.length > 0) socket.unshift(opening.head);
  socket.on('data', opening.onUse);
  await join(socket, program);
}

async function ask({ request, connection, path, headers, socket }: Opening): Promise<Answer> {
  const outgoing = send({
    method: 'GET',
    path,
    headers: [...headers, 'connection', 'Upgrade', 'upgrade', 'websocket'],
    createConnection: () => connection,
    maxHeaderSize: MAX_HEADER_BYTES,
  });
  const stop = () => outgoing.destroy(new Error('the caller is gone'));
  socket.once('close', stop);
  if (socket.destroyed || request.destroyed) stop();
  try {
    return await new Promise<Answer>((resolve, reject) => {
      outgoing.once('upgrade', (incoming, program, head) => resolve({ incoming, program, head }));
      outgoing.once('response', (incoming) => resolve({ incoming }));
      outgoing.on('error', reject).end();
    });
  } catch (error) {
    throw new AppError('upstream_unavailable', gaveNoAnswer, null, error);
  } finally {
    socket.off('close', stop);
  }
}

/** Ends of one direction are passed on; a side that breaks off breaks the other. */
async function join(caller: Duplex, program: Duplex): Promise<void> {
  if (caller instanceof Socket) caller.setNoDelay().setKeepAlive(true, KEEP_ALIVE_MS);
  program.on('error', () => program.destroy());
  const timers: NodeJS.Timeout[] = [];
  const carry = (from: Duplex, to: Duplex) =>
    new Promise<void>((resolve) => {
      if (from.closed) return resolve();
      from.once('end', () => timers.push(setTimeout(() => destroyBoth(from, to), LAST_WORD_MS)));
      from.once('close', () => {
        if (!from.readableEnded) to.destroy();
        resolve();
      });
      from.pipe(to);
    });
  const both = Promise.all([carry(caller, program), carry(program, caller)]);
  if (caller.destroyed || program.destroyed) destroyBoth(caller, program);
  await both;
  for (const timer of timers) clearTimeout(timer);
}

function destroyBoth(one: Duplex, other: Duplex): void {
  one.destroy();
  other.destroy();
}

function headOf(status: number, headers: string[]): string {
  const lines = headers.flatMap((name, index) => (index % 2 === 0 ? [`${name}: ${headers[index + 1]}`] : []));
  return `${[`HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}`, ...lines].join('\r\n')}\r\n\r\n`;
}
