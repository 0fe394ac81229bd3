import { randomUUID } from 'node:crypto';
import { appendFileSync } from 'node:fs';
import { join } from 'node:path';
import type { EngineContext } from '../../src/engine/context.ts';
import { createGatewayClient } from '../../src/engine/gateway-client.ts';
import type { TurnRequest } from '../../src/engine/protocol.ts';
import { createTurns } from '../../src/engine/turns.ts';

/**
 * An engine that only runs turns, for tests that kill it: recovers, then starts the turns it is given and waits. Reports
 * go to a file, as an outbox would keep them.
 */
const [home = '', turnsJson = '[]'] = process.argv.slice(2);
const reportsFile = join(home, 'reports');

const context: EngineContext = {
  home,
  folder: join(home, '.replica'),
  secret: 'secret',
  sandboxId: randomUUID(),
  incarnation: 1,
  gatewayPort: 1,
  now: () => new Date(),
  report: async (report) => appendFileSync(reportsFile, `${JSON.stringify(report)}\n`),
  flush: async () => {},
  gateway: createGatewayClient({ socket: join(home, 'nobody.sock'), secret: 'secret' }),
  childEnvironment: () => ({ HOME: home, PATH: process.env.PATH ?? '' }),
  repositories: () => [],
  guidance: () => ({ mcpServers: {}, systemPrompt: null }),
  agentsFolder: join(home, 'agents'),
  log: () => {},
  warn: () => {},
};
const nothing = async () => {};
const turns = createTurns({ context, repositories: { capture: async () => [] }, canvas: { sync: nothing } });
await turns.recover();
for (const turn of JSON.parse(turnsJson) as TurnRequest[]) await turns.start(turn);
process.stdout.write('started\n');
setInterval(() => {}, 60_000);
