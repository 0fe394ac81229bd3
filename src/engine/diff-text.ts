import { StringDecoder } from 'node:string_decoder';

export type Diff = { added: number; removed: number; diff: string; isDiffCut: boolean };

/**
 * Reads what `git diff-tree --numstat --patch` writes, as it comes: a line of numbers per file, an empty line, the diff.
 * Memory stays bounded however large it is. What PostgreSQL could not store is replaced.
 */
export function createDiffReader({ maxCharacters }: { maxCharacters: number }): {
  take(chunk: Buffer): boolean;
  end(): Diff;
} {
  const decoder = new StringDecoder('utf8');
  let isCounting = true;
  let line = '';
  let diff = '';
  let isDiffCut = false;
  let added = 0;
  let removed = 0;

  function count(text: string): string {
    let rest = line + text;
    for (let end = rest.indexOf('\n'); end >= 0; end = rest.indexOf('\n')) {
      const [plus, minus] = rest.slice(0, end).split('\t', 2);
      rest = rest.slice(end + 1);
      if (minus === undefined) {
        isCounting = false;
        return rest;
      }
      // Binary files have dashes instead of numbers.
      added = Math.min(maxCount, added + (Number(plus) || 0));
      removed = Math.min(maxCount, removed + (Number(minus) || 0));
    }
    line = rest;
    return '';
  }

  return {
    take(chunk) {
      const text = decoder.write(chunk);
      diff += isCounting ? count(text) : text;
      isDiffCut = diff.length > maxCharacters;
      return !isDiffCut;
    },
    end: () => ({
      added,
      removed,
      diff: cutAtLine(diff, maxCharacters).replaceAll('\0', '\uFFFD'),
      isDiffCut,
    }),
  };
}

const maxCount = 1_000_000_000;

/** The longest beginning of whole lines. */
export function cutAtLine(text: string, maxCharacters: number): string {
  if (text.length <= maxCharacters) return text;
  return text.slice(0, text.lastIndexOf('\n', maxCharacters - 1) + 1);
}
