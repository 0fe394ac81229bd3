import path from 'node:path';
import { programFolder } from '../../src/agent-program/catalog.ts';
import { isInstalled } from '../../src/agent-program/install.ts';
import { loadConfig } from '../../src/config.ts';
import type { CodingAgent } from '../../src/contract/message.ts';

/** Where the real programs of an agent are; script/test has put them there. */
export function agentPrograms(agent: CodingAgent): string {
  const { agentsDir } = loadConfig(process.env);
  if (!isInstalled(agent, agentsDir))
    throw new Error(`${agent} is not installed here: run "bin/replica.js agents install".`);
  return path.join(agentsDir, programFolder(agent));
}
