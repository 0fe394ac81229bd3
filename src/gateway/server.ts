import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Logger } from 'pino';
import { AppError, errorCodeHeader, notFound } from '../contract/error.ts';
import { toAppError } from '../http/error-answer.ts';
import { createTokenBuckets } from '../http/token-bucket.ts';
import type { SandboxIdentity } from '../sandbox/service.ts';
import { type AuthenticateSandbox, createAdmit } from './admit.ts';
import { answerRefusal, answerRefusalOnSocket, PROXY_UNAUTHENTICATED } from './answer.ts';
import { createConnections } from './connections.ts';
import type { Egress } from './egress.ts';
import { listenInFolder } from './listen.ts';

/** Everything below one path. What `handle` throws is answered with the error body of the API. */
export type GatewayRoute = {
  /** With a slash at its end. */
  prefix: string;
  handle(request: IncomingMessage, response: ServerResponse, identity: SandboxIdentity): Promise<void>;
};

export type GatewayOptions = {
  /** The folder that sandboxes see read-only; the socket appears in it. */
  folder: string;
  authenticate: AuthenticateSandbox;
  routes: GatewayRoute[];
  /** What leaves for the rest of the world: CONNECT, and requests that name a whole URL. */
  egress: Egress;
  log: Logger;
  limits?: Partial<GatewayLimits>;
};

export type GatewayLimits = {
  headerBytes: number;
  connectionsPerSandbox: number;
  unknownConnections: number;
  requestBurst: number;
  requestsPerSecond: number;
  /** How long a connection may take to say what it wants. */
  headersTimeoutMs: number;
  /** How long nothing may move on a connection. */
  idleTimeoutMs: number;
  /** How long requests that have begun may take while the gateway closes. */
  drainMs: number;
};

const usualLimits: GatewayLimits = {
  headerBytes: 16_384,
  connectionsPerSandbox: 256,
  unknownConnections: 1_024,
  requestBurst: 1_000,
  requestsPerSecond: 200,
  headersTimeoutMs: 15_000,
  idleTimeoutMs: 120_000,
  drainMs: 5_000,
};

/** Buckets kept at once; a sandbox beyond that starts with a full one. */
const MAX_SANDBOXES = 10_000;

/** The only way out of a sandbox: an HTTP server on a unix socket, which trusts nothing it is sent. */
export async function startGateway(options: GatewayOptions): Promise<{ close(): Promise<void> }> {
  const { routes, egress, log } = options;
  const limits = { ...usualLimits, ...options.limits };
  const connections = createConnections({
    perSandbox: limits.connectionsPerSandbox,
    unknown: limits.unknownConnections,
  });
  const admit = createAdmit({
    authenticate: options.authenticate,
    connections,
    buckets: createTokenBuckets({
      capacity: limits.requestBurst,
      refillPerSecond: limits.requestsPerSecond,
      maxEntries: MAX_SANDBOXES,
    }),
    now: () => performance.now(),
  });
  const running = new Set<Promise<void>>();

  function track(work: Promise<void>): void {
    const done = work
      .catch((error: unknown) => log.error({ err: error }, 'gateway.failed'))
      .finally(() => running.delete(done));
    running.add(done);
  }

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const startedAt = performance.now();
    const url = request.url ?? '';
    const isProxied = /^https?:/i.test(url);
    const route = routes.find(({ prefix }) => isBelow(url, prefix));
    let identity: SandboxIdentity | null = null;
    try {
      identity = await admit(request, isProxied ? 'proxy-authorization' : 'authorization');
      if (isProxied) await egress.forward(request, response, identity);
      else if (route) await route.handle(request, response, identity);
      else throw notFound('Path');
    } catch (error) {
      // Who is gone needs no answer, and that a request ends with its client is no failure.
      if (!response.closed) answerRefusal(response, refusalOf(error, isProxied));
    }
    log[isProxied ? 'debug' : 'info'](
      {
        method: request.method,
        route: isProxied ? 'egress' : (route?.prefix ?? 'none'),
        status: response.statusCode,
        ms: Math.round((performance.now() - startedAt) * 10) / 10,
        sandboxId: identity?.sandboxId,
        organizationId: identity?.organizationId,
        code: response.getHeader(errorCodeHeader),
      },
      'gateway.request',
    );
  }

  async function tunnel(request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
    // A socket without a listener for its errors would end the process.
    socket.on('error', () => socket.destroy());
    try {
      const identity = await admit(request, 'proxy-authorization');
      await egress.connect({ request, socket: socket as Socket, head, identity });
    } catch (error) {
      if (!socket.destroyed) answerRefusalOnSocket(socket, refusalOf(error, true));
    }
  }

  function refusalOf(error: unknown, isProxied: boolean): { error: AppError; status: number } {
    const refusal = toAppError(error);
    if (refusal.status === 500) log.error({ err: refusal.cause ?? refusal }, 'gateway.failed');
    const status = isProxied && refusal.code === 'unauthenticated' ? PROXY_UNAUTHENTICATED : refusal.status;
    return { error: refusal, status };
  }

  const server = createServer({
    maxHeaderSize: limits.headerBytes,
    headersTimeout: limits.headersTimeoutMs,
    // A push may take long to arrive; a connection on which nothing moves is closed.
    requestTimeout: 0,
    keepAliveTimeout: limits.idleTimeoutMs / 2,
    connectionsCheckingInterval: Math.min(limits.headersTimeoutMs, 5_000),
    requireHostHeader: false,
  });
  server.setTimeout(limits.idleTimeoutMs);
  server.maxHeadersCount = 100;
  server.on('connection', (socket) => connections.opened(socket));
  server.on('request', (request, response) => track(answer(request, response)));
  server.on('connect', (request, socket, head) => track(tunnel(request, socket, head)));
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    answerRefusalOnSocket(socket, refuseGarbage(error, limits));
  });
  const remove = await listenInFolder(server, options.folder);
  // A connection that cannot be taken, as when there are too many files open, must not end the process.
  server.on('error', (error) => log.error({ err: error }, 'gateway.accept_failed'));

  async function drain(): Promise<void> {
    remove();
    const closed = new Promise<void>((resolve) => server.close(() => resolve()));
    egress.close();
    const idle = setInterval(() => server.closeIdleConnections(), 50);
    const late = setTimeout(() => server.closeAllConnections(), limits.drainMs);
    await closed;
    clearInterval(idle);
    clearTimeout(late);
    await Promise.all(running);
  }

  let drained: Promise<void> | null = null;
  return {
    close() {
      drained ??= drain();
      return drained;
    },
  };
}

/** A path that leads upwards is below nothing: whoever reads it next might follow it. */
function isBelow(url: string, prefix: string): boolean {
  const path = url.split('?', 1)[0] ?? '';
  const climbs = /(?:^|\/|\\)(?:\.|%2e){1,2}(?:\/|\\|$)/i.test(path);
  return !climbs && path.startsWith(prefix);
}

function refuseGarbage(error: NodeJS.ErrnoException, limits: GatewayLimits) {
  const refusal =
    error.code === 'HPE_HEADER_OVERFLOW'
      ? new AppError('headers_too_large', `The request headers are larger than ${limits.headerBytes} bytes.`)
      : error.code === 'ERR_HTTP_REQUEST_TIMEOUT'
        ? new AppError('request_timeout', 'The request took too long to arrive.')
        : new AppError('invalid_request', 'The request is not valid HTTP.');
  return { error: refusal, status: refusal.status };
}
