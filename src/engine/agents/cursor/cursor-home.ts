import { existsSync, rmSync } from 'node:fs';
import path from 'node:path';
import { writeHomeFile } from '../../home-file.ts';
import { checkParts, useHomeFolder } from '../../home-folder.ts';

/**
 * Writes the system prompt as a rule that always applies, and says in which folders there are such rules. The SDK reads
 * them in the folders it works in and nowhere else, not even in `~/.cursor`; a folder of their own keeps them out of the
 * repositories and their diffs.
 */
export function writeCursorRules(home: string, systemPrompt: string | null): string[] {
  if (systemPrompt === null) return [];
  const parts = ['.replica', 'engine', 'cursor-rules', 'AGENTS.md'];
  writeHomeFile({ home, parts, content: Buffer.from(systemPrompt), mode: 0o644 });
  return [path.join(home, ...parts.slice(0, -1))];
}

/** Where the SDK keeps the conversation of a chat; apart from others, which have runners of their own. */
export function cursorStateFolder(home: string, chatId: string): string {
  return path.join(home, ...STATE, chatId);
}

export function removeCursorState(home: string, chatId: string): void {
  checkParts([chatId]);
  if (!existsSync(cursorStateFolder(home, chatId))) return;
  useHomeFolder(home, STATE, (folder) => rmSync(path.join(folder, chatId), { recursive: true, force: true }));
}

const STATE = ['.cursor', 'sdk'];
