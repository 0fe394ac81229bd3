import type { IncomingMessage, Server } from 'node:http';
import type { Duplex } from 'node:stream';
import type { Logger } from 'pino';
import { AppError, notFound } from '../contract/error.ts';
import { toAppError } from './error-answer.ts';
import { refuseSocket } from './refuse-socket.ts';

/** Answers a request to speak another protocol; what it throws before it has answered becomes an error answer. */
export type UpgradeHandler = (request: IncomingMessage, socket: Duplex, head: Buffer) => Promise<void>;

/** Which requests are meant: those whose path begins so, or those of which it says so. */
export type UpgradeMatch = string | ((request: IncomingMessage) => boolean);

/**
 * Requests that leave HTTP behind, such as those for a WebSocket. Only what a handler asks for is upgraded: some
 * clients offer a newer HTTP with every request, and get their ordinary answer.
 */
export function createUpgrades(log: Logger) {
  const handlers: { matches: (request: IncomingMessage) => boolean; handler: UpgradeHandler }[] = [];
  const sockets = new Set<Duplex>();
  let isClosed = false;

  const handlerOf = (request: IncomingMessage) =>
    handlers.find(({ matches }) => matches(request))?.handler ?? null;

  async function upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
    // The handler learns of a broken connection by its closing; without a listener the event would end the process.
    socket.on('error', () => socket.destroy());
    try {
      if (isClosed) throw new AppError('unavailable', 'The service is stopping; try again shortly.');
      const handler = handlerOf(request);
      if (!handler) throw notFound('Path');
      await handler(request, socket, head);
    } catch (error) {
      const refusal = toAppError(error);
      if (refusal.status >= 500) log.error({ err: refusal.cause ?? refusal }, 'upgrade.failed');
      if (socket.writable) refuseSocket(socket, refusal);
    }
  }

  return {
    isWanted: (request: IncomingMessage) => handlerOf(request) !== null,
    add(server: Server, match: UpgradeMatch, handler: UpgradeHandler): void {
      if (handlers.length === 0) server.on('upgrade', upgrade);
      const matches =
        typeof match === 'string' ? (request: IncomingMessage) => !!request.url?.startsWith(match) : match;
      handlers.push({ matches, handler });
    },
    /** Ends what was upgraded; what asks for it later is refused. */
    closeAll(): void {
      isClosed = true;
      for (const socket of sockets) socket.destroy();
    },
  };
}
