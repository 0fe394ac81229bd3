import { existsSync, globSync, readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import path from 'node:path';
import type { CursorAgentOptions } from '../../../src/engine/agents/cursor/cursor-sdk.ts';

/** What the model is told besides the messages: the rules of all folders, and which skills the user has. */
export function readSurroundings({
  cwd,
  dirs,
  settingSources,
}: Pick<CursorAgentOptions['local'], 'cwd' | 'dirs' | 'settingSources'>): string {
  const rules = settingSources.includes('project')
    ? [cwd, ...dirs].map((folder) => path.join(folder, 'AGENTS.md')).filter((file) => existsSync(file))
    : [];
  const skills = settingSources.includes('user')
    ? globSync(path.join(homedir(), '.cursor/skills/*/SKILL.md'))
    : [];
  return [...rules, ...skills].map((file) => readFileSync(file, 'utf8')).join('\n');
}
