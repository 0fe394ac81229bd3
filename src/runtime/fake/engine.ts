/**
 * A FAKE of the process inside a sandbox. It speaks the protocol of src/engine/protocol.ts over one end of a pair of
 * streams and reports to the gateway like the real one, so that the control plane notices no difference; but it clones
 * nothing, runs no hook, no agent and no terminal, and its disk is a value in memory.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { buffer, json } from 'node:stream/consumers';
import { engineLimits } from '../../engine/limits.ts';
import { engineVariables } from '../../engine/place.ts';
import type { BootPlan, EngineInfo, TerminalRequest, TurnRequest } from '../../engine/protocol.ts';
import { protocolVersions } from '../../engine/version.ts';
import { version } from '../../lib/version.ts';
import { fakeBoot } from './boot.ts';
import type { FakeDisk } from './machine.ts';
import { createFakeOutbox } from './outbox.ts';
import { linkedPair, openPort } from './port.ts';
import { createFakeTerminal, type FakeTerminal } from './terminal.ts';
import { createFakeTurns } from './turn.ts';

export type FakeEngine = {
  /** The control plane's end of a new connection. */
  connect(): Duplex;
  /** Ends it at once, like a kill: every connection breaks off. */
  stop(): void;
};

export type FakeEngineOptions = {
  environment: Readonly<Record<string, string>>;
  disk: FakeDisk;
  ports: ReadonlyMap<number, (stream: Duplex) => void>;
  gatewayFolder: string;
  now: () => Date;
};

type Answer = { status: number; body?: unknown };
type Call = { request: IncomingMessage; response: ServerResponse; rest: string[]; query: URLSearchParams };

export function startFakeEngine({
  environment,
  disk,
  ports,
  gatewayFolder,
  now,
}: FakeEngineOptions): FakeEngine {
  const secret = environment[engineVariables.secret] ?? '';
  const incarnation = Number(environment[engineVariables.incarnation] ?? 1);
  const started = now();
  const ending = new AbortController();
  const outbox = createFakeOutbox({ disk, gatewayFolder, secret, incarnation, now, signal: ending.signal });
  const turns = createFakeTurns(outbox.report, ending.signal);
  const terminals = new Map<string, FakeTerminal>();
  const streams = new Set<Duplex>();
  let boot: EngineInfo['boot'] = null;

  const isAllowed = (request: IncomingMessage) => request.headers.authorization === `Bearer ${secret}`;

  /** What answers, by method and first part of the path; null when the answer was already given. */
  const routes: Record<string, (call: Call) => Promise<Answer | null>> = {
    'GET ': async () => ({ status: 200, body: describe() }),
    'PUT boot': async ({ request }) => {
      // The control plane is trusted, as the real engine trusts it.
      const plan = (await json(request)) as BootPlan;
      if (boot?.id !== plan.id)
        boot = { id: plan.id, state: fakeBoot({ plan, disk, report: outbox.report, now }) };
      return { status: 202, body: { boot } };
    },
    'POST turns': async ({ request, rest: [id, action] }) => {
      if (id !== undefined && action === 'interrupt')
        return { status: 200, body: { interrupted: turns.interrupt(id) } };
      turns.begin((await json(request)) as TurnRequest);
      return { status: 202, body: {} };
    },
    'POST capture': async () => {
      outbox.report({
        type: 'repositories.changed',
        payload: { repositories: [...disk.repositories.values()] },
      });
      await outbox.flush();
      return { status: 200, body: {} };
    },
    'POST flush': async () => {
      await outbox.flush();
      return { status: 200, body: {} };
    },
    'GET terminals': async ({ response, rest: [id, action], query }) => {
      if (id === undefined)
        return { status: 200, body: { terminals: [...terminals.values()].map(({ info }) => info) } };
      const terminal = terminals.get(id);
      if (!terminal || action !== 'stream') return { status: 404 };
      const offset = Math.min(Number(query.get('offset') ?? 0), terminal.output().length);
      response.writeHead(200, { 'x-terminal-offset': offset });
      terminal.stream(offset).pipe(response);
      return null;
    },
    'POST terminals': async ({ request, rest: [id, action] }) => {
      if (id === undefined) return openTerminal((await json(request)) as TerminalRequest);
      const terminal = terminals.get(id);
      if (action === 'input') terminal?.input(await buffer(request));
      else if (terminal && action === 'resize') Object.assign(terminal.info, await json(request));
      return { status: terminal ? 204 : 404 };
    },
    'DELETE terminals': async ({ rest: [id = ''] }) => {
      const terminal = terminals.get(id);
      terminal?.end();
      return { status: terminals.delete(id) ? 204 : 404 };
    },
  };

  function describe(): EngineInfo {
    const uptimeSeconds = (now().getTime() - started.getTime()) / 1000;
    return { protocol: protocolVersions, version, incarnation, uptimeSeconds, boot, turns: turns.inWork() };
  }

  function openTerminal(request: TerminalRequest): Answer {
    if (terminals.size >= engineLimits.terminals) return { status: 409 };
    const terminal = createFakeTerminal(request, disk, now);
    terminals.set(request.id, terminal);
    return { status: 201, body: terminal.info };
  }

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '/', 'http://engine');
    const [first = '', ...rest] = url.pathname.slice(1).split('/');
    const route = routes[`${request.method} ${first}`];
    const call = { request, response, rest, query: url.searchParams };
    const given = isAllowed(request) ? await (route?.(call) ?? { status: 404 }) : { status: 401 };
    if (!given) return;
    response.writeHead(given.status, { 'content-type': 'application/json' });
    response.end(given.body === undefined ? undefined : JSON.stringify(given.body));
  }

  const server = createServer((request, response) => {
    answer(request, response).catch((error: unknown) => {
      if (!response.headersSent) response.writeHead(500);
      response.end(String(error));
    });
  });
  server.on('upgrade', (request: IncomingMessage, stream: Duplex) => {
    const port = /^\/tunnel\/(\d+)$/.exec(request.url ?? '')?.[1];
    if (!isAllowed(request) || port === undefined) {
      stream.end(`HTTP/1.1 ${port === undefined ? '404 Not Found' : '401 Unauthorized'}\r\n\r\n`);
      return;
    }
    try {
      const target = openPort(ports, Number(port));
      stream.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n');
      stream.pipe(target).pipe(stream);
    } catch {
      stream.end('HTTP/1.1 502 Bad Gateway\r\n\r\n');
    }
  });

  outbox.report({ type: 'engine.started', payload: { version } });
  return {
    connect() {
      const [near, far] = linkedPair();
      streams.add(far);
      far.once('close', () => streams.delete(far));
      server.emit('connection', far);
      return near;
    },
    stop() {
      ending.abort();
      for (const stream of streams) stream.destroy();
    },
  };
}
