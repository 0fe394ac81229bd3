import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Logger } from 'pino';
import { AppError, errorCodeHeader } from '../contract/error.ts';
import type { AppParts } from '../http/app.ts';
import { refuseSocket } from '../http/refuse-socket.ts';
import type { PreviewAddresses, PreviewTarget } from './address.ts';
import { redirect, refuse } from './answer.ts';
import { sessionCookie } from './cookies.ts';
import { isPreflight, preflightAnswer } from './cross-origin.ts';
import { type Admitted, createDoor, type Visit } from './door.ts';
import { forward } from './forward.ts';
import { headersForProgram, headersFromProgram } from './headers.ts';
import { passLifetimeMs } from './pass.ts';
import { createReach } from './reach.ts';
import { openWebSocket } from './web-socket.ts';

type Parts = Parameters<typeof createDoor>[0] &
  Parameters<typeof createReach>[0] &
  Pick<AppParts, 'onAnswered'> & { addresses: PreviewAddresses; log: Logger };

/** What is under way when the service stops may take this long to end. */
const STOP_GRACE_MS = 1_000;
const NOTE_USE_EVERY_MS = 5_000;

/**
 * Serves previews. They stand before the routes of the API: a program behind a host name may have any path, also one of
 * ours, and takes any method and any body.
 */
export function registerPreviews(app: FastifyInstance, parts: Parts): void {
  const { addresses, log } = parts;
  const door = createDoor(parts);
  const reach = createReach(parts);
  const running = new Set<AbortController>();
  app.stopping.addEventListener('abort', () => {
    setTimeout(() => {
      for (const each of running) each.abort();
    }, STOP_GRACE_MS).unref();
  });

  const targetOf = ({ headers, url = '' }: IncomingMessage) => addresses.parse({ host: headers.host, url });

  async function serve(target: PreviewTarget, request: FastifyRequest, reply: FastifyReply): Promise<void> {
    const visit = { target, headers: request.headers, address: request.ip };
    if (target.token !== null && (request.method === 'GET' || request.method === 'HEAD')) {
      return beginSession(visit, reply);
    }
    const admitted = await door.admit(visit);
    if (!target.path.startsWith('/')) return redirect(reply, 308, target);
    if (target.form === 'path' && admitted.preview.is_public && isPreflight(request)) {
      reply.code(204).headers(preflightAnswer(request)).send();
      return;
    }
    await pass(visit, admitted, request, reply);
  }

  async function beginSession(visit: Visit, reply: FastifyReply): Promise<void> {
    const value = await door.enter(visit);
    const session = { value, maxAgeMs: passLifetimeMs.session, isSecure: addresses.scheme === 'https' };
    reply.header('set-cookie', sessionCookie(session, visit.target)).header('referrer-policy', 'no-referrer');
    redirect(reply, 303, visit.target);
  }

  async function pass(
    visit: Visit,
    admitted: Admitted,
    { raw: request }: FastifyRequest,
    reply: FastifyReply,
  ): Promise<void> {
    const over = new AbortController();
    running.add(over);
    reply.raw.once('close', () => {
      running.delete(over);
      over.abort();
    });
    const begin = () => reply.hijack().raw;
    const passed = { ...passing(request, visit, admitted), signal: over.signal, begin };
    await reach.connect(admitted.replica, visit.target.port, (connection) =>
      forward({ ...passed, connection }),
    );
  }

  async function tunnel(request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
    const target = targetOf(request);
    if (!target) return;
    const { replicaId, port } = target;
    const visit = { target, headers: request.headers, address: request.socket.remoteAddress ?? '' };
    const startedAt = performance.now();
    let code: string | undefined;
    try {
      const admitted = await door.admit(visit);
      const passed = { ...passing(request, visit, admitted), socket, head, onUse: useNoter(replicaId) };
      await reach.connect(admitted.replica, port, (connection) => openWebSocket({ ...passed, connection }));
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
      code = error.code;
      if (socket.writable) refuseSocket(socket, error);
    } finally {
      const ms = Math.round(performance.now() - startedAt);
      log.info({ operation: 'previewSocket', ms, replicaId, port, code }, 'request');
    }
  }

  /** Notes now and then that somebody sends something. */
  function useNoter(replicaId: string): () => void {
    let notedAt = performance.now();
    return () => {
      if (performance.now() - notedAt < NOTE_USE_EVERY_MS) return;
      notedAt = performance.now();
      // The next one is as good.
      reach.noteUse(replicaId).catch(() => {});
    };
  }

  function passing(request: IncomingMessage, { target, address }: Visit, admitted: Admitted) {
    const { preview, dropsAuthorization } = admitted;
    const { scheme } = addresses;
    return {
      request,
      path: target.path,
      headers: headersForProgram(request, { target, address, scheme, dropsAuthorization }),
      headersOf: (answer: IncomingMessage) =>
        headersFromProgram(answer, { target, isPublic: preview.is_public }),
    };
  }

  app.addHook('onRequest', (request, reply, done) => {
    const target = targetOf(request.raw);
    if (!target) return done();
    logWhenAnswered(parts, { target, request, reply });
    serve(target, request, reply).catch((error: unknown) => {
      if (error instanceof AppError) refuse(error, request, reply);
      else done(error as Error);
    });
  });
  app.onUpgrade((request) => isWebSocket(request) && targetOf(request) !== null, tunnel);
}

function isWebSocket({ method, headers }: IncomingMessage): boolean {
  return method === 'GET' && headers.upgrade?.toLowerCase() === 'websocket';
}

/** The line of the road names the operation of the path, which here is the path of somebody else's program. */
function logWhenAnswered(
  { log, onAnswered }: Parts,
  { target, request, reply }: { target: PreviewTarget; request: FastifyRequest; reply: FastifyReply },
): void {
  request.isStreaming = true;
  reply.raw.once('close', () => {
    const { replicaId, port } = target;
    const status = reply.raw.statusCode;
    const ms = Math.round(reply.elapsedTime * 10) / 10;
    const code = reply.getHeader(errorCodeHeader);
    onAnswered?.({ operation: 'preview', status, seconds: ms / 1000 });
    log.info(
      { reqId: request.id, method: request.method, operation: 'preview', status, ms, replicaId, port, code },
      'request',
    );
  });
}
