import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { startEmbeddedPostgres } from '../../src/db/embedded/start.ts';
import { removeSandboxes } from './remove-sandboxes.ts';

const root = path.resolve(import.meta.dirname, '../..');
const replicaProgram = path.join(root, 'src/cli/main.ts');

export type Bootstrap = {
  base_url: string;
  organization_id: string;
  api_key: string;
  admin: { email: string; password: string };
};
export type CommandResult = { code: number | null; stdout: string; stderr: string };

/** A data folder and a port on which the real `replica` program is run, killed and run again. */
export class ServiceFolder {
  readonly dataDir = mkdtempSync(path.join(tmpdir(), 'replica-process-'));
  readonly environment: Record<string, string>;
  readonly baseUrl: string;
  readonly #children = new Set<ChildProcess>();
  readonly #program: string;

  private constructor(port: number, environment: Record<string, string>, program: string) {
    this.#program = program;
    this.baseUrl = `http://127.0.0.1:${port}`;
    this.environment = {
      ...(process.env as Record<string, string>),
      REPLICA_DATA_DIR: this.dataDir,
      REPLICA_PORT: String(port),
      REPLICA_LOG_LEVEL: 'warn',
      REPLICA_RUNTIME: 'fake',
      REPLICA_AGENT_RUNNER: 'scripted',
      REPLICA_WARM_POOL_SIZE: '0',
      XDG_CONFIG_HOME: path.join(this.dataDir, 'config'),
      ...environment,
    };
  }

  /** `program` is one that serves as `replica` does, but with parts that tests bring along. */
  static async create(
    environment: Record<string, string> = {},
    program = replicaProgram,
  ): Promise<ServiceFolder> {
    return new ServiceFolder(await freePort(), environment, program);
  }

  /** Starts `replica serve` and waits until it is ready. */
  async serve(): Promise<ServiceProcess> {
    const service = this.launch();
    const { child, output } = service;
    while (!(await isReady(this.baseUrl))) {
      if (child.exitCode !== null || child.signalCode !== null)
        throw new Error(`the service ended with ${child.exitCode}: ${output.stderr}`);
      await delay(10);
    }
    return service;
  }

  /** Starts `replica serve` and waits for nothing. */
  launch(): ServiceProcess {
    const child = this.#spawn(['serve']);
    return { child, output: collect(child), kill: (signal) => end(child, signal) };
  }

  /** Runs `replica …` to its end. */
  async run(args: string[], input = ''): Promise<CommandResult> {
    const child = this.#spawn(args);
    child.stdin?.end(input);
    const output = collect(child);
    await once(child, 'close');
    return { code: child.exitCode, ...output };
  }

  bootstrap(): Bootstrap {
    return JSON.parse(readFileSync(path.join(this.dataDir, 'bootstrap.json'), 'utf8'));
  }

  postmasterPid(): number {
    return Number.parseInt(readFileSync(path.join(this.dataDir, 'postgres/postmaster.pid'), 'utf8'), 10);
  }

  /** Ends every process of the folder, the database server too, and removes it. */
  async remove(): Promise<void> {
    for (const child of this.#children) await end(child, 'SIGKILL');
    // A server left by a kill is taken down by whoever adopts it.
    if (existsSync(path.join(this.dataDir, 'postgres/postmaster.pid'))) {
      await (await startEmbeddedPostgres({ dataDir: this.dataDir })).stop();
    }
    await removeSandboxes(this.dataDir);
    rmSync(this.dataDir, { recursive: true, force: true });
  }

  #spawn(args: string[]): ChildProcess {
    const child = spawn(process.execPath, [this.#program, ...args], {
      cwd: root,
      env: this.environment,
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    this.#children.add(child);
    child.once('exit', () => this.#children.delete(child));
    return child;
  }
}

export type ServiceProcess = {
  child: ChildProcess;
  output: { stdout: string; stderr: string };
  kill(signal: NodeJS.Signals): Promise<number | null>;
};

function collect(child: ChildProcess): { stdout: string; stderr: string } {
  const output = { stdout: '', stderr: '' };
  child.stdout?.on('data', (chunk) => {
    output.stdout += chunk;
  });
  child.stderr?.on('data', (chunk) => {
    output.stderr += chunk;
  });
  return output;
}

async function end(child: ChildProcess, signal: NodeJS.Signals): Promise<number | null> {
  if (child.exitCode === null && child.signalCode === null) {
    const exited = once(child, 'exit');
    child.kill(signal);
    await exited;
  }
  return child.exitCode;
}

async function isReady(baseUrl: string): Promise<boolean> {
  try {
    return (await fetch(`${baseUrl}/readyz`)).ok;
  } catch {
    return false;
  }
}

async function freePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const address = probe.address();
  probe.close();
  await once(probe, 'close');
  return typeof address === 'object' && address ? address.port : 0;
}
