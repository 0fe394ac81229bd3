import { existsSync } from 'node:fs';
import path from 'node:path';
import { removeHomeFile, writeHomeFile } from '../../home-file.ts';
import { placementProblem, useHomeFolder } from '../../home-folder.ts';

const CONFIG = ['.config', 'opencode'];
/** The one package that opencode wants to have in every folder of configuration. */
const WANTED_PACKAGE = '@opencode-ai/plugin';

/**
 * Makes opencode believe that the packages of its configuration are installed: it would fetch them at every start. Whoever
 * has a list of packages there wants them, and gets them.
 */
export function stopOpencodeInstalls(home: string): void {
  try {
    useHomeFolder(home, CONFIG, (folder) => {
      if (existsSync(path.join(folder, 'package.json')) || existsSync(path.join(folder, 'node_modules')))
        return;
      useHomeFolder(home, [...CONFIG, 'node_modules'], () => {});
      const packages = { '': { dependencies: { [WANTED_PACKAGE]: '*' } } };
      const content = Buffer.from(`${JSON.stringify({ lockfileVersion: 3, packages })}\n`);
      writeHomeFile({ home, parts: [...CONFIG, 'package-lock.json'], content, mode: 0o644 });
    });
  } catch (error) {
    // Somebody has put other things there; then opencode does what it does.
    if (placementProblem(error) === null) throw error;
  }
}

const OWN = ['.replica', 'engine', 'opencode'];

/** The database of a chat. Two servers that start at once on the same one lock each other out. */
export function opencodeDatabase(home: string, chatId: string): string {
  useHomeFolder(home, OWN, () => {});
  return path.join(home, ...OWN, `${chatId}.db`);
}

export function removeOpencodeDatabase(home: string, chatId: string): void {
  if (!existsSync(path.join(home, ...OWN))) return;
  for (const suffix of ['', '-wal', '-shm']) removeHomeFile(home, [...OWN, `${chatId}.db${suffix}`]);
}

/** Writes the system prompt where opencode reads it; the path of the file, or nothing when there is no prompt. */
export function writeOpencodeInstructions(home: string, systemPrompt: string | null): string[] {
  if (systemPrompt === null) return [];
  const parts = [...OWN, 'instructions.md'];
  writeHomeFile({ home, parts, content: Buffer.from(systemPrompt), mode: 0o644 });
  return [path.join(home, ...parts)];
}
