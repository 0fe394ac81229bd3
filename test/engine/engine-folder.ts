import { execFileSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import http from 'node:http';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { engineVariables } from '../../src/engine/place.ts';
import type { BootHook, BootPlan, EngineInfo } from '../../src/engine/protocol.ts';
import { engineBundle } from '../../src/runtime/engine-bundle.ts';
import { connectEngine, launchEngine } from '../../src/runtime/process/launch.ts';
import { type EventsGateway, type SentEvent, startEventsGateway } from './events-gateway.ts';

const root = path.resolve(import.meta.dirname, '../..');
const WAIT_MS = 10_000;

export type EngineAnswer = { status: number; headers: http.IncomingHttpHeaders; text: string };
export type RunningEngine = {
  pid: number;
  request(
    method: string,
    path: string,
    body?: unknown,
    headers?: Record<string, string>,
  ): Promise<EngineAnswer>;
  /** Begins a boot and waits until it has ended. */
  boot(plan: BootPlan): Promise<'finished' | 'failed'>;
  kill(signal?: NodeJS.Signals): Promise<void>;
};

/** A folder in which the real engine runs as a plain process, is killed and runs again. */
export type EngineFolder = {
  home: string;
  outbox: string;
  secret: string;
  sandboxId: string;
  socket: string;
  log(): string;
  openGateway(): Promise<EventsGateway>;
  start(options?: { incarnation?: number; node?: string }): Promise<RunningEngine>;
  close(): Promise<void>;
};

export function createEngineFolder(): EngineFolder {
  buildOnce();
  const folder = mkdtempSync(path.join(tmpdir(), 'replica-engine-'));
  const home = path.join(folder, 'home');
  mkdirSync(home);
  const secret = randomUUID();
  const sandboxId = randomUUID();
  const socket = path.join(folder, 'gateway.sock');
  const gateways: EventsGateway[] = [];
  const engines: RunningEngine[] = [];

  return {
    home,
    outbox: path.join(home, '.replica/engine/outbox', sandboxId),
    secret,
    sandboxId,
    socket,
    log: () => readFileSync(path.join(folder, 'engine.log'), 'utf8'),
    async openGateway() {
      const gateway = await startEventsGateway({ socket, secret });
      gateways.push(gateway);
      return gateway;
    },
    async start({ incarnation = 1, node = process.execPath } = {}) {
      const { bundle, environment: options } = engineBundle();
      const environment = {
        ...options,
        PATH: process.env.PATH ?? '',
        [engineVariables.secret]: secret,
        [engineVariables.sandboxId]: sandboxId,
        [engineVariables.incarnation]: String(incarnation),
        [engineVariables.home]: home,
        [engineVariables.gatewaySocket]: socket,
        [engineVariables.gatewayPort]: '0',
      };
      const pid = await launchEngine({ folder, home, node, bundle, environment });
      const engine = runningEngine(pid);
      engines.push(engine);
      return engine;
    },
    async close() {
      await Promise.all(engines.map((engine) => engine.kill('SIGTERM')));
      await Promise.all(gateways.map((gateway) => gateway.close().catch(() => {})));
      rmSync(folder, { recursive: true, force: true });
    },
  };

  function runningEngine(pid: number): RunningEngine {
    const engine: RunningEngine = {
      pid,
      async boot(plan) {
        const { status, text } = await engine.request('PUT', '/boot', plan);
        if (status !== 202) throw new Error(`the boot was refused: ${text}`);
        for (const end = performance.now() + WAIT_MS; performance.now() < end; await delay(5)) {
          const { boot }: EngineInfo = JSON.parse((await engine.request('GET', '/')).text);
          if (boot && boot.state !== 'running') return boot.state;
        }
        throw new Error('waited in vain until the boot has ended');
      },
      async request(method, target, body, headers = {}) {
        const socketToEngine = await connectEngine(folder, AbortSignal.timeout(WAIT_MS));
        const request = http.request({
          createConnection: () => socketToEngine,
          method,
          path: target,
          headers: { authorization: `Bearer ${secret}`, connection: 'close', ...headers },
        });
        request.end(Buffer.isBuffer(body) || body === undefined ? body : JSON.stringify(body));
        const [response] = (await once(request, 'response')) as [http.IncomingMessage];
        const text = (await response.setEncoding('utf8').toArray()).join('');
        return { status: response.statusCode ?? 0, headers: response.headers, text };
      },
      async kill(signal = 'SIGKILL') {
        if (!isAlive(pid)) return;
        process.kill(pid, signal);
        await until(() => !isAlive(pid), 'the engine has ended');
      },
    };
    return engine;
  }
}

let isBuilt = false;
function buildOnce(): void {
  if (!isBuilt) execFileSync(process.execPath, [path.join(root, 'script/build-engine.ts')]);
  isBuilt = true;
}

/** Waits for a condition, not longer than is patient. */
export async function until(isSo: () => boolean, what: string): Promise<void> {
  const end = performance.now() + WAIT_MS;
  while (!isSo()) {
    if (performance.now() > end) throw new Error(`waited in vain until ${what}`);
    await delay(5);
  }
}

export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return !readFileSync(`/proc/${pid}/stat`, 'latin1').includes(') Z ');
  } catch {
    return false;
  }
}

export function bootPlan(plan: Partial<BootPlan> = {}): BootPlan {
  return {
    id: randomUUID(),
    repositories: [],
    files: [],
    variables: {},
    skills: [],
    mcpServers: {},
    systemPrompt: null,
    hooks: [],
    failOn: 'nothing',
    gitIdentity: { name: 'Ada', email: 'ada@example.com' },
    ...plan,
  };
}

export function bootHook(hook: Partial<BootHook> & Pick<BootHook, 'commands'>): BootHook {
  return {
    runId: randomUUID(),
    phase: 'start',
    repository: null,
    timeoutMs: 30_000,
    separate: true,
    ...hook,
  };
}

export function ofType(events: readonly SentEvent[], type: string): SentEvent['payload'][] {
  return events.filter((event) => event.type === type).map(({ payload }) => payload);
}
