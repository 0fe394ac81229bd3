import { setMaxListeners } from 'node:events';
import { maxHeaderSize } from 'node:http';
import type { Socket } from 'node:net';
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import type { Logger } from 'pino';
import type { Caller } from '../account/caller.ts';
import { AppError, errorCodeHeader, notFound } from '../contract/error.ts';
import type { Operation } from '../contract/operation.ts';
import { JsonBodyError, parseJsonBody } from '../lib/json-body.ts';
import { toAppError } from './error-answer.ts';
import type { LooseHandler } from './handler.ts';
import { limitLargeBodies } from './large-bodies.ts';
import { refuseSocket } from './refuse-socket.ts';
import { requestId } from './request-id.ts';
import { type RouteParts, registerRoute } from './route.ts';
import type { StreamEnd, StreamLimits } from './send-stream.ts';
import { createStreams, type Streams } from './streams.ts';
import { createUpgrades, type UpgradeHandler, type UpgradeMatch } from './upgrades.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** Who makes the request; null before it was admitted and for operations anyone may call. */
    caller: Caller | null;
    rawBody: Buffer | null;
    /** Whether the answer is a stream that has begun. */
    isStreaming: boolean;
  }
  interface FastifyInstance {
    /** Aborted when the service begins to stop; what answers without end has to end then. */
    stopping: AbortSignal;
    /** Takes the requests of a path, or of which a function says so, that ask for another protocol. */
    onUpgrade(match: UpgradeMatch, handler: UpgradeHandler): void;
  }
  interface FastifyContextConfig {
    operation?: string;
  }
}

export type AppParts = RouteParts & {
  log: Logger;
  operations: Record<string, Operation>;
  handlers: Record<string, LooseHandler>;
  /** Addresses whose X-Forwarded-For is believed; none when empty. */
  trustedProxies: string[];
  streamLimits?: Partial<StreamLimits>;
  /** Called once for each answered request, for metrics. */
  onAnswered?: (request: { operation: string; status: number; seconds: number }) => void;
};

/** On every answer. Answers hold secrets, so nobody on the way may keep them; pages add what pages need. */
const securityHeaders = { 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' };

const MAX_JSON_DEPTH = 64;
/** How long a request that has begun may take to end while the service stops. */
const DRAIN_LIMIT_MS = 30_000;

/** Builds the API from the contract's table of operations. */
export function createApp(parts: AppParts): FastifyInstance {
  const upgrades = createUpgrades(parts.log);
  const app = Fastify({
    // Requests get one line of ours when they are answered; a logger for each of them would cost more than that line.
    logger: false,
    bodyLimit: parts.bodyLimitBytes,
    // A request that has arrived is answered also while the process is closing.
    return503OnClosing: false,
    forceCloseConnections: 'idle',
    requestTimeout: 60_000,
    trustProxy: parts.trustedProxies,
    // Node would refuse a request without Host by itself, and without a body.
    http: { requireHostHeader: false, shouldUpgradeCallback: upgrades.isWanted },
    genReqId: (request) => requestId(request.headers['x-request-id']),
    frameworkErrors: (error, request, reply) => sendError(parts.log, error, request, reply),
    clientErrorHandler: (error, socket) => refuseConnection(error as NodeJS.ErrnoException, socket),
    routerOptions: { maxParamLength: 1_000, ignoreTrailingSlash: true },
  });
  app.decorateRequest('caller', null);
  app.decorateRequest('rawBody', null);
  app.decorateRequest('isStreaming', false);
  const stopping = new AbortController();
  setMaxListeners(0, stopping.signal);
  app.decorate('stopping', stopping.signal);
  app.decorate('onUpgrade', (match: UpgradeMatch, handler: UpgradeHandler) =>
    upgrades.add(app.server, match, handler),
  );
  app.addHook('onRequest', (request, reply, done) => {
    reply.headers(securityHeaders).header('x-request-id', request.id);
    const lacksHost = request.headers.host === undefined && request.raw.httpVersion === '1.1';
    done(lacksHost ? new AppError('invalid_request', 'The request has no Host header.') : undefined);
  });
  // Node would answer an Expect header that it does not know by itself; RFC 9110 lets a server pass over it.
  app.server.on('checkExpectation', (request, response) => app.server.emit('request', request, response));
  readJsonBodies(app);
  const streams = createStreams({
    stopping: stopping.signal,
    log: parts.log,
    limits: parts.streamLimits,
    onEnded: (reply, end) => logAnswer(parts, reply.request, reply, end),
  });
  drainOnClose(app);
  app.addHook('preClose', async () => {
    stopping.abort();
    upgrades.closeAll();
    await streams.ended();
  });
  app.setErrorHandler((error, request, reply) => sendError(parts.log, error, request, reply));
  app.setNotFoundHandler((request, reply) => sendError(parts.log, notFound('Path'), request, reply));
  app.addHook('onResponse', (request, reply, done) => {
    if (!request.isStreaming) logAnswer(parts, request, reply);
    done();
  });
  registerOperations(app, { ...parts, streams });
  return app;
}

/** Those that take bytes as they come have a scope of their own, where no content type is refused. */
function registerOperations(app: FastifyInstance, parts: AppParts & { streams: Streams }): void {
  const routes = Object.entries(parts.operations).map(([name, operation]) => {
    const handler = parts.handlers[name];
    if (!handler) throw new Error(`operation ${name} has no handler`);
    return { name, operation, handler };
  });
  for (const route of routes.filter(({ operation }) => !operation.isRaw)) registerRoute(app, parts, route);
  app.register(async (scope) => {
    readRawBodies(scope);
    limitLargeBodies(scope);
    for (const route of routes.filter(({ operation }) => operation.isRaw)) registerRoute(scope, parts, route);
  });
}

function sendError(log: Logger, error: unknown, request: FastifyRequest, reply: FastifyReply) {
  const refusal = toAppError(error);
  if (refusal.status >= 500)
    log.error({ reqId: request.id, err: refusal.cause ?? refusal }, 'request.failed');
  // Who keeps count of requests knows the time; whoever else refuses one does not.
  if (refusal.code === 'rate_limited' && !reply.hasHeader('retry-after')) reply.header('retry-after', 60);
  return (
    reply
      .code(refusal.status)
      // Fastify refuses some paths before any hook has run.
      .header('x-request-id', request.id)
      .header(errorCodeHeader, refusal.code)
      .type('application/json; charset=utf-8')
      .serializer(JSON.stringify)
      .send({ error: refusal.message, details: refusal.details })
  );
}

function readJsonBodies(app: FastifyInstance): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser(
    'application/json',
    { parseAs: 'buffer' },
    async (request: FastifyRequest, bytes: Buffer) => {
      request.rawBody = bytes;
      if (bytes.length === 0) return undefined;
      try {
        return parseJsonBody(bytes, { maxDepth: MAX_JSON_DEPTH });
      } catch (error) {
        if (error instanceof JsonBodyError)
          throw new AppError('invalid_json', `The request body is refused: ${error.message}.`);
        throw error;
      }
    },
  );
}

function readRawBodies(app: FastifyInstance): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', { parseAs: 'buffer' }, async (request: FastifyRequest, bytes: Buffer) => {
    request.rawBody = bytes;
  });
}

/**
 * Closing waits for requests that have begun. Connections that are kept open between requests would hold it up, so
 * answers say that this was the last one, and connections are closed as they become idle.
 */
function drainOnClose(app: FastifyInstance): void {
  let isClosing = false;
  const sockets = new Set<Socket>();
  app.server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  app.addHook('onSend', (_request, reply, _payload, done) => {
    if (isClosing) reply.header('connection', 'close');
    done();
  });
  app.addHook('preClose', async () => {
    isClosing = true;
    const idle = setInterval(() => {
      app.server.closeIdleConnections();
      // Node takes a connection that was never used for one whose request is on its way.
      for (const socket of sockets) if (socket.bytesRead === 0) socket.destroy();
    }, 50);
    const late = setTimeout(() => app.server.closeAllConnections(), DRAIN_LIMIT_MS);
    app.server.once('close', () => {
      clearInterval(idle);
      clearTimeout(late);
    });
  });
}

/** One wide line per request. The path is left out: it can hold a token, and the operation says enough. */
function logAnswer(parts: AppParts, request: FastifyRequest, reply: FastifyReply, stream?: StreamEnd): void {
  const operation = request.routeOptions.config.operation ?? 'none';
  const seconds = reply.elapsedTime / 1000;
  parts.onAnswered?.({ operation, status: reply.statusCode, seconds });
  parts.log.info(
    {
      reqId: request.id,
      method: request.method,
      operation,
      status: reply.statusCode,
      ms: Math.round(reply.elapsedTime * 10) / 10,
      organizationId: request.caller?.organizationId,
      keyId: request.caller?.keyId ?? undefined,
      personId: request.caller?.personId ?? undefined,
      code: stream?.failure?.code ?? reply.getHeader(errorCodeHeader),
      ...(stream && { ending: stream.ending, frames: stream.frames }),
    },
    'request',
  );
}

/** What is not even HTTP gets the same error body, written by hand. */
function refuseConnection(error: NodeJS.ErrnoException, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable) return;
  const refusal =
    error.code === 'HPE_HEADER_OVERFLOW'
      ? new AppError('headers_too_large', `The request headers are larger than ${maxHeaderSize} bytes.`)
      : error.code === 'ERR_HTTP_REQUEST_TIMEOUT'
        ? new AppError('request_timeout', 'The request took too long to arrive.')
        : new AppError('invalid_request', 'The request is not valid HTTP.');
  refuseSocket(socket, refusal);
}
