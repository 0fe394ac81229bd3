import os from 'node:os';
import path from 'node:path';
import { createBoot } from './boot.ts';
import { createCanvas } from './canvas.ts';
import { engineCommands } from './commands.ts';
import type { EngineContext } from './context.ts';
import { ENGINE_VERSION } from './engine-version.ts';
import { composeEnvironment, fitVariables } from './environment.ts';
import { createGatewayClient } from './gateway-client.ts';
import { openGatewayPort } from './gateway-port.ts';
import { createIdleCollector } from './idle-collector.ts';
import { createOutbox } from './outbox.ts';
import { engineVariables } from './place.ts';
import { killProcesses } from './process-tree.ts';
import type { BootPlan } from './protocol.ts';
import { createRepositories } from './repositories.ts';
import { createEngineServer } from './server.ts';
import type { EngineSettings } from './settings.ts';
import { createTerminals } from './terminals.ts';
import { tidyHome } from './tidy-home.ts';
import { openTunnel } from './tunnel.ts';
import { createTurns } from './turns.ts';

export type Engine = {
  /** Ends every process it has started; reports that were not taken yet stay on disk. */
  close(): Promise<void>;
};

const MAX_WARNINGS = 100;

type Workspace = Pick<BootPlan, 'variables' | 'repositories' | 'mcpServers' | 'systemPrompt'>;

/** Puts the parts together and listens on the descriptor. */
export async function startEngine({
  settings,
  listenDescriptor,
  log,
}: {
  settings: EngineSettings;
  listenDescriptor: number;
  log(line: string): void;
}): Promise<Engine> {
  const { secret, sandboxId, incarnation, home, gatewaySocket } = settings;
  const folder = path.join(home, '.replica');
  const now = () => new Date();
  const gateway = createGatewayClient({ socket: gatewaySocket, secret });
  const warnings = new Set<string>();
  tidyHome(home, { warn });
  const outboxFolder = path.join(folder, 'engine', 'outbox');
  const outbox = createOutbox({ folder: outboxFolder, sandboxId, gateway, incarnation, now, log, warn });
  const gatewayPort = await openGatewayPort({ port: settings.gatewayPort, socket: gatewaySocket });
  const source = {
    home,
    folder,
    secret,
    sandboxId,
    gatewayPort: gatewayPort.port,
    userName: userName(),
    searchPath: process.env.PATH,
  };
  const collector = createIdleCollector();
  let workspace: Workspace = { variables: {}, repositories: [], mcpServers: {}, systemPrompt: null };

  const context: EngineContext = {
    home,
    folder,
    secret,
    sandboxId,
    incarnation,
    gatewayPort: gatewayPort.port,
    now,
    report(report) {
      collector.touch();
      return outbox.report(report);
    },
    flush: outbox.flush,
    gateway,
    childEnvironment: () => composeEnvironment(source, workspace),
    repositories: () => workspace.repositories,
    guidance: () => workspace,
    agentsFolder: settings.agentsFolder,
    log,
    warn,
  };
  const repositories = createRepositories(context);
  const canvas = createCanvas(context);
  const terminals = createTerminals(context);
  const turns = createTurns({ context, repositories, canvas });
  const boot = createBoot({ context, repositories, adopt, warnings: () => [...warnings] });
  const recovered = turns.recover().catch((error) => log(`turns were not recovered: ${String(error)}`));
  const routes = engineCommands({ context, boot, repositories, canvas, terminals, turns, recovered });
  const server = createEngineServer({ secret, routes, openTunnel, log });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen({ fd: listenDescriptor }, resolve);
  });
  canvas.start();
  recovered
    .then(() => context.report({ type: 'engine.started', payload: { version: ENGINE_VERSION } }))
    .catch((error) => log(`the start was not reported: ${String(error)}`));

  return {
    async close() {
      server.close();
      server.closeAllConnections();
      canvas.close();
      await Promise.allSettled([boot.close(), turns.closeAll(), terminals.closeAll()]);
      await killProcesses({ variable: engineVariables.sandboxId, value: sandboxId });
      gatewayPort.close();
      await outbox.close();
      gateway.close();
    },
  };

  function adopt({ variables, repositories: bound, mcpServers, systemPrompt }: BootPlan): void {
    workspace = {
      variables: fitVariables(variables).variables,
      repositories: bound,
      mcpServers,
      systemPrompt,
    };
  }

  function warn(sentence: string): void {
    if (warnings.size < MAX_WARNINGS) warnings.add(sentence);
    log(`warning: ${sentence}`);
  }
}

/** By the variable where there is one: the list of users may be anything, such as a fifo. */
function userName(): string {
  try {
    return process.env.USER || os.userInfo().username;
  } catch {
    // A user without an entry in /etc/passwd.
    return 'replica';
  }
}
