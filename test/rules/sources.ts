import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';

const root = path.resolve(import.meta.dirname, '../..');

export type Source = { file: string; text: string; imports: string[] };

/** The project's own sources with what each imports; relative imports as paths from the project's root. */
export function readSources(pattern: string): Source[] {
  return globSync(pattern, { cwd: root }).map((file) => {
    const text = readFileSync(path.join(root, file), 'utf8');
    const specifiers = [...text.matchAll(/(?:from|import)\s*\(?\s*'([^']+)'/g)].map(
      (match) => match[1] ?? '',
    );
    const imports = specifiers.map((name) =>
      name.startsWith('.') ? path.normalize(path.join(path.dirname(file), name)) : name,
    );
    return { file, text, imports };
  });
}
