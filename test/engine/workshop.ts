import { randomUUID } from 'node:crypto';
import { mkdirSync, rmSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { EngineContext } from '../../src/engine/context.ts';
import { createGatewayClient } from '../../src/engine/gateway-client.ts';
import { openGatewayPort } from '../../src/engine/gateway-port.ts';
import type { BootRepository, EngineReport } from '../../src/engine/protocol.ts';
import { type GatewayStandIn, startGatewayStandIn } from './gateway-stand-in.ts';

/** A home in a temporary folder with a stand-in for the gateway: what the parts of the engine need around them. */
export type Workshop = {
  context: EngineContext;
  gateway: GatewayStandIn;
  home: string;
  reports: EngineReport[];
  /** Binds a repository that stands at this URL of a git host. */
  bind(repository: { name: string; url: string; branch?: string | null }): BootRepository;
  close(): Promise<void>;
};

export async function openWorkshop(): Promise<Workshop> {
  const folder = await mkdtemp(join(tmpdir(), 'engine-'));
  const home = join(folder, 'home');
  mkdirSync(join(home, 'workspaces'), { recursive: true });
  const secret = 'engine-secret';
  const gateway = await startGatewayStandIn({ folder, secret });
  const port = await openGatewayPort({ port: 0, socket: gateway.socket });
  const client = createGatewayClient({ socket: gateway.socket, secret });
  const reports: EngineReport[] = [];
  const repositories: BootRepository[] = [];

  function gitSettings(): [string, string][] {
    const base = `http://127.0.0.1:${port.port}/git`;
    return [
      [`http.${base}/.extraHeader`, `Authorization: Bearer ${secret}`],
      ...repositories.map(({ id, url }): [string, string] => [`url.${base}/${id}.insteadOf`, url]),
      ['user.name', 'Tester'],
      ['user.email', 'tester@example.com'],
    ];
  }

  const context: EngineContext = {
    home,
    folder: join(home, '.replica'),
    secret,
    sandboxId: randomUUID(),
    gatewayPort: port.port,
    incarnation: 1,
    now: () => new Date(),
    report: async (report) => void reports.push(report),
    flush: async () => {},
    gateway: client,
    childEnvironment: () => ({
      HOME: home,
      PATH: process.env.PATH ?? '/usr/bin:/bin',
      LANG: 'C.UTF-8',
      GIT_CONFIG_NOSYSTEM: '1',
      ...gitVariables(gitSettings()),
    }),
    repositories: () => repositories,
    guidance: () => ({ mcpServers: {}, systemPrompt: null }),
    agentsFolder: join(folder, 'agents'),
    log: () => {},
    warn: () => {},
  };

  return {
    context,
    gateway,
    home,
    reports,
    bind({ name, url, branch = null }) {
      const repository = {
        id: randomUUID(),
        name,
        url: `https://git.example/${name}.git`,
        branch,
        restore: false,
      };
      gateway.git.set(repository.id, url);
      repositories.push(repository);
      return repository;
    },
    async close() {
      client.close();
      port.close();
      await gateway.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

function gitVariables(settings: [string, string][]): Record<string, string> {
  const pairs = settings.flatMap(([name, value], index) => [
    [`GIT_CONFIG_KEY_${index}`, name],
    [`GIT_CONFIG_VALUE_${index}`, value],
  ]);
  return { GIT_CONFIG_COUNT: String(settings.length), ...Object.fromEntries(pairs) };
}
