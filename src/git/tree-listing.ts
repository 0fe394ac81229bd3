import { GitError } from './failure.ts';

export type TreeEntry = {
  /** With forward slashes, from the root; never absolute, never with `.`, `..` or `.git` as a part. */
  path: string;
  /** Bytes of the content; of the target's text for a link; 0 for a submodule. */
  size: number;
  kind: 'file' | 'link' | 'submodule';
};

export type TreeListing = {
  entries: TreeEntry[];
  /** Path to what git needs for reading it. */
  records: Map<string, TreeEntry & { object: string }>;
};

const kinds: Record<string, TreeEntry['kind']> = { '100': 'file', '120': 'link', '160': 'submodule' };

/**
 * Reads `git ls-tree -r -l -z`. A name that is no UTF-8, or that would lead out of the tree if someone wrote it to a
 * disk, cannot be used by anyone and is left out.
 */
export function parseTree(output: Buffer, { maxEntries }: { maxEntries: number }): TreeListing {
  const entries: TreeEntry[] = [];
  const records: TreeListing['records'] = new Map();
  let count = 0;
  for (let start = 0; start < output.length; ) {
    const stop = output.indexOf(0, start);
    if (stop < 0) break;
    const record = output.subarray(start, stop);
    start = stop + 1;
    count += 1;
    if (count > maxEntries)
      throw new GitError('too_large', `The repository has more than ${maxEntries} files.`);
    const parsed = parseRecord(record);
    if (parsed === null || records.has(parsed.path)) continue;
    entries.push({ path: parsed.path, size: parsed.size, kind: parsed.kind });
    records.set(parsed.path, parsed);
  }
  return { entries, records };
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

function parseRecord(record: Buffer): (TreeEntry & { object: string }) | null {
  const tab = record.indexOf(0x09);
  const [mode = '', , object = '', size = ''] = record.toString('latin1', 0, tab).split(/ +/);
  const kind = kinds[mode.slice(0, 3)];
  const path = decode(record.subarray(tab + 1));
  if (tab < 0 || kind === undefined || path === null || !isSafePath(path)) return null;
  return { path, size: size === '-' ? 0 : Number(size), kind, object };
}

function decode(bytes: Buffer): string | null {
  try {
    return utf8.decode(bytes);
  } catch {
    return null;
  }
}

function isSafePath(path: string): boolean {
  return path
    .split('/')
    .every((part) => part !== '' && part !== '.' && part !== '..' && part.toLowerCase() !== '.git');
}
