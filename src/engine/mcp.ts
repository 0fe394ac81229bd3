import { writeHomeFile } from './home-file.ts';
import type { BootPlan } from './protocol.ts';

/** Writes ~/.replica/mcp.json, from which the code of each agent makes what that agent reads. It may hold secrets. */
export function writeMcpServers(home: string, mcpServers: BootPlan['mcpServers']): void {
  const content = Buffer.from(`${JSON.stringify({ mcpServers }, null, 2)}\n`);
  writeHomeFile({ home, parts: ['.replica', 'mcp.json'], content, mode: 0o600 });
}
