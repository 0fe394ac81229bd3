import { removeHomeFile, writeHomeFile } from './home-file.ts';

const parts = ['.replica', 'system-prompt.md'];

/** Writes ~/.replica/system-prompt.md, or removes it when there is none. */
export function writeSystemPrompt(home: string, systemPrompt: string | null): void {
  if (systemPrompt === null) removeHomeFile(home, parts);
  else writeHomeFile({ home, parts, content: Buffer.from(systemPrompt), mode: 0o644 });
}
