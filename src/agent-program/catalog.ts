import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { type CodingAgent, codingAgent } from '../contract/message.ts';

/** The folder with the locked list of what agents are made of. */
export const agentListFolder = path.resolve(import.meta.dirname, '..', '..', 'agents');

export const agentNames = codingAgent.options;

/** The folder of an agent's programs below the agents folder. What is made of something else has another one. */
export function programFolder(agent: CodingAgent): string {
  const folder = folders.get(agent) ?? nameFolder(agent);
  folders.set(agent, folder);
  return folder;
}

/** The list is the same for as long as this process runs. */
const folders = new Map<CodingAgent, string>();

function nameFolder(agent: CodingAgent): string {
  const list = readFileSync(path.join(agentListFolder, agent, 'package.json'));
  return `${agent}-${agentVersion(agent)}-${createHash('sha256').update(list).digest('hex').slice(0, 8)}`;
}

export function agentVersion(agent: CodingAgent): string {
  const { version } = JSON.parse(readFileSync(path.join(agentListFolder, agent, 'package.json'), 'utf8')) as {
    version: string;
  };
  return version;
}
