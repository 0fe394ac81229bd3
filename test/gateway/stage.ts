import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { type IncomingHttpHeaders, request as send } from 'node:http';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { type Logger, pino } from 'pino';
import { createEgress, type EgressOptions } from '../../src/gateway/egress.ts';
import type { EgressContact } from '../../src/gateway/egress-check.ts';
import type { EgressPolicy } from '../../src/gateway/egress-policy.ts';
import { type GatewayLimits, type GatewayRoute, startGateway } from '../../src/gateway/server.ts';
import type { SandboxIdentity } from '../../src/sandbox/service.ts';

/** A gateway on a socket of its own, and clients that speak to it as a sandbox does. */
export type Stage = {
  folder: string;
  socketPath: string;
  secret: string;
  identity: SandboxIdentity;
  /** What the gateway has logged so far. */
  logged: string[];
  contacts: EgressContact[];
  /** The policy that the next connection meets. */
  policy: EgressPolicy;
  call(request: Call): Promise<Answer>;
  /** A plain connection to the socket. */
  dial(): Promise<Socket>;
  /** Runs the real git client and returns what it says; it does not throw. */
  git(args: string[], options?: { cwd?: string; secret?: string }): Promise<GitOutcome>;
  /** Where a repository is for the git client. */
  gitUrl(repositoryId: string): string;
  close(): Promise<void>;
};

export type Call = {
  method?: string;
  path: string;
  headers?: Record<string, string>;
  body?: Buffer;
  secret?: string | null;
  isProxied?: boolean;
};
export type Answer = { status: number; headers: IncomingHttpHeaders; body: Buffer };
export type GitOutcome = { code: number | null; output: string; errors: string };

type StageOptions = {
  routes?: (stage: { folder: string; log: Logger }) => GatewayRoute[];
  egress?: Partial<EgressOptions>;
  limits?: Partial<GatewayLimits>;
};

export const anotherSecret = 'secret-of-another-sandbox';
export const anotherIdentity: SandboxIdentity = {
  sandboxId: '01890a5d-ac96-774b-bcce-000000000002',
  organizationId: '01890a5d-ac96-774b-bcce-0000000000b0',
  environmentId: null,
  replicaId: null,
  incarnation: 1,
};

export async function startStage(options: StageOptions = {}): Promise<Stage> {
  const folder = await mkdtemp(join(tmpdir(), 'gateway-'));
  const secret = 'secret-of-the-sandbox';
  const identity: SandboxIdentity = {
    ...anotherIdentity,
    sandboxId: '01890a5d-ac96-774b-bcce-000000000001',
    organizationId: '01890a5d-ac96-774b-bcce-0000000000a0',
  };
  const logged: string[] = [];
  const contacts: EgressContact[] = [];
  const log: Logger = pino({ level: 'debug' }, { write: (line) => void logged.push(line) });
  const stage = { policy: { mode: 'none', hosts: [] } as EgressPolicy };
  const runFolder = join(folder, 'run');
  const gateway = await startGateway({
    folder: runFolder,
    authenticate: async (given) =>
      given === secret ? identity : given === anotherSecret ? anotherIdentity : null,
    routes: options.routes?.({ folder, log }) ?? [],
    egress: createEgress({
      policyOf: async () => stage.policy,
      record: (_, contact) => void contacts.push(contact),
      allowPrivateTargets: true,
      ...options.egress,
    }),
    log,
    limits: { drainMs: 500, ...options.limits },
  });
  const socketPath = join(runFolder, 'gateway.sock');
  const bridge = await startBridge(socketPath);
  const { port } = bridge.address() as AddressInfo;

  async function dial(): Promise<Socket> {
    const socket = connect(socketPath);
    await once(socket, 'connect');
    return socket;
  }

  return Object.assign(stage, {
    folder,
    socketPath,
    secret,
    identity,
    logged,
    contacts,
    dial,
    call: (request: Call) => call(socketPath, { secret, ...request }),
    gitUrl: (id: string) => `http://127.0.0.1:${port}/git/${id}`,
    git: (args: string[], { cwd = folder, secret: own = secret } = {}) =>
      runGit({ args, cwd, secret: own, folder }),
    async close() {
      await gateway.close();
      bridge.close();
      await rm(folder, { recursive: true, force: true });
    },
  });
}

/** What the engine does inside a sandbox: opens the socket to programs that can only speak TCP. */
async function startBridge(socketPath: string): Promise<Server> {
  const bridge = createServer({ allowHalfOpen: true }, (near) => {
    const far = connect({ path: socketPath, allowHalfOpen: true });
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      from.pipe(to);
      from.on('error', () => to.destroy());
      from.on('close', () => to.destroySoon());
    }
  });
  bridge.listen(0, '127.0.0.1');
  await once(bridge, 'listening');
  bridge.unref();
  return bridge;
}

async function call(socketPath: string, request: Call): Promise<Answer> {
  const { method = 'GET', path, headers, body, secret, isProxied } = request;
  const name = isProxied ? 'proxy-authorization' : 'authorization';
  const outgoing = send({
    socketPath,
    method,
    path,
    agent: false,
    headers: { ...(secret && { [name]: `Bearer ${secret}` }), ...headers },
  });
  const answered = once(outgoing, 'response');
  outgoing.end(body);
  // A server that has heard enough closes the connection under a body that is still being sent.
  outgoing.on('error', () => {});
  const [response] = await answered;
  return { status: response.statusCode, headers: response.headers, body: await buffer(response) };
}

async function runGit(run: {
  args: string[];
  cwd: string;
  secret: string;
  folder: string;
}): Promise<GitOutcome> {
  const basic = Buffer.from(`replica:${run.secret}`).toString('base64');
  const child = spawn('git', run.args, {
    cwd: run.cwd,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {
      PATH: process.env.PATH ?? '/usr/bin:/bin',
      HOME: run.folder,
      LC_ALL: 'C',
      GIT_CONFIG_NOSYSTEM: '1',
      GIT_CONFIG_GLOBAL: '/dev/null',
      GIT_TERMINAL_PROMPT: '0',
      GIT_AUTHOR_NAME: 'Tester',
      GIT_AUTHOR_EMAIL: 'tester@example.com',
      GIT_COMMITTER_NAME: 'Tester',
      GIT_COMMITTER_EMAIL: 'tester@example.com',
      GIT_CONFIG_COUNT: '1',
      GIT_CONFIG_KEY_0: 'http.extraHeader',
      GIT_CONFIG_VALUE_0: `Authorization: Basic ${basic}`,
    },
  });
  const closed = once(child, 'close');
  const [output, errors, [code]] = await Promise.all([buffer(child.stdout), buffer(child.stderr), closed]);
  return { code, output: output.toString().trim(), errors: errors.toString() };
}
