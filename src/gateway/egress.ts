import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { AppError } from '../contract/error.ts';
import type { SandboxIdentity } from '../sandbox/service.ts';
import { goneSignal } from './answer.ts';
import { createEgressCheck, type EgressCheckOptions } from './egress-check.ts';
import { connectToTarget } from './egress-connect.ts';
import { forwardRequest } from './egress-forward.ts';
import { type EgressTarget, isPort } from './egress-policy.ts';
import { joinSockets } from './egress-tunnel.ts';
import { createCounter } from './slots.ts';

/** The proxy for the rest of the world. Both roads throw before they have answered, or have answered themselves. */
export type Egress = {
  /** CONNECT: bytes both ways, which nobody reads. It lasts as long as the tunnel. */
  connect(tunnel: {
    request: IncomingMessage;
    socket: Socket;
    /** What came after the request already. */
    head: Buffer;
    identity: SandboxIdentity;
  }): Promise<void>;
  /** A plain request with a whole URL. */
  forward(request: IncomingMessage, response: ServerResponse, identity: SandboxIdentity): Promise<void>;
  /** Ends all tunnels, and takes none any more. */
  close(): void;
};

export type EgressOptions = EgressCheckOptions & { limits?: Partial<EgressLimits> };

export type EgressLimits = {
  connectionsPerSandbox: number;
  /** For the name and the connection together. */
  connectTimeoutMs: number;
  /** How long nothing may move. */
  idleTimeoutMs: number;
};

const usualLimits: EgressLimits = {
  connectionsPerSandbox: 128,
  connectTimeoutMs: 20_000,
  idleTimeoutMs: 10 * 60_000,
};

export function createEgress(options: EgressOptions): Egress {
  const limits = { ...usualLimits, ...options.limits };
  const check = createEgressCheck(options);
  const counter = createCounter(limits.connectionsPerSandbox);
  const closing = new AbortController();

  /** Names are looked up and connections made by nothing but this. */
  async function open(attempt: Attempt, use: (socket: Socket) => Promise<void>): Promise<void> {
    const { identity, target, allowHalfOpen, signal } = attempt;
    const leave = counter.take(identity.sandboxId);
    if (!leave)
      throw new AppError('rate_limited', 'This sandbox has too many connections open to the outside.');
    const { connectTimeoutMs: timeoutMs } = limits;
    try {
      const deadline = new AbortController();
      const late = setTimeout(() => deadline.abort(tooLate(target)), timeoutMs);
      const socket = await connected(AbortSignal.any([signal, deadline.signal])).finally(() =>
        clearTimeout(late),
      );
      await use(socket).finally(() => socket.destroySoon());
    } finally {
      leave();
    }

    async function connected(signal: AbortSignal): Promise<Socket> {
      const checked = await check({ identity, target, signal });
      return connectToTarget(checked, { timeoutMs, allowHalfOpen, signal });
    }
  }

  return {
    async connect({ request, socket, head, identity }) {
      const target = parseAuthority(request.url ?? '', null);
      const gone = new AbortController();
      const onClose = () => gone.abort(new Error('the client went away'));
      socket.once('close', onClose);
      const signal = AbortSignal.any([closing.signal, gone.signal]);
      await open({ identity, target, allowHalfOpen: true, signal }, async (upstream) => {
        socket.off('close', onClose);
        socket.write('HTTP/1.1 200 Connection Established\r\n\r\n');
        upstream.write(head);
        await joinSockets(socket, upstream, { idleMs: limits.idleTimeoutMs, signal: closing.signal });
      });
    },

    async forward(request, response, identity) {
      const [, authority = '', rest = ''] = /^http:\/\/([^/?#]*)([^#]*)/i.exec(request.url ?? '') ?? [];
      const target = parseAuthority(authority, 80);
      const path = rest.startsWith('/') ? rest : `/${rest}`;
      const signal = AbortSignal.any([closing.signal, goneSignal(response)]);
      await open({ identity, target, allowHalfOpen: false, signal }, (socket) =>
        forwardRequest({
          request,
          response,
          socket,
          host: authority,
          path,
          idleMs: limits.idleTimeoutMs,
          signal,
        }),
      );
    },

    close: () => closing.abort(new AppError('unavailable', 'The service stops.')),
  };
}

type Attempt = {
  identity: SandboxIdentity;
  target: EgressTarget;
  allowHalfOpen: boolean;
  signal: AbortSignal;
};

function tooLate({ host, port }: EgressTarget): AppError {
  return new AppError('upstream_unavailable', `${host}:${port} did not answer in time.`);
}

function parseAuthority(text: string, usualPort: number | null): EgressTarget {
  const [, host, digits] = /^(\[[^\]]{1,100}\]|[^:@[\]]{1,1024})(?::(\d{1,5}))?$/.exec(text) ?? [];
  const port = digits === undefined ? usualPort : Number(digits);
  if (host === undefined || port === null || !isPort(port)) {
    throw new AppError(
      'invalid_request',
      'The proxy takes CONNECT with host:port, and requests with a whole http:// URL without a user name.',
    );
  }
  return { host, port };
}
