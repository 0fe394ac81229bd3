/*
 * Runs inside a sandbox and says where a secret can be found there: in files, in the environments and arguments of
 * processes, and in their memory as far as it may be read. The secret is given backwards, or the search would find
 * itself. The sandbox's own secret, which is known to be there, is searched for as well, to show that the search finds.
 */
import { closeSync, lstatSync, openSync, readdirSync, readFileSync, readSync, writeFileSync } from 'node:fs';
import path from 'node:path';

export type Findings = {
  secret: string[];
  own: string[];
  /** Processes whose memory was read. */
  memories: number;
};

const [backwards = '', reportFile = ''] = process.argv.slice(2);
const needles = {
  secret: Buffer.from([...backwards].reverse().join('')),
  own: Buffer.from(process.env.REPLICA_ENGINE_SECRET ?? ''),
};
const findings: Findings = { secret: [], own: [], memories: 0 };

const PIECE_BYTES = 4 * 1_048_576;
const OVERLAP_BYTES = 4_096;
const PAGE_BYTES = 4_096;
/** Larger ones are the programs of agents. */
const MAX_FILE_BYTES = 16 * 1_048_576;
/** The system is the host's own, read-only and the same for every sandbox. */
const passedOver = new Set(['/proc', '/sys', '/usr', '/bin', '/lib', '/lib64', '/sbin']);

searchFolder('/');
for (const name of readdirSync('/proc'))
  if (/^\d+$/.test(name) && Number(name) !== process.pid) searchProcess(Number(name));
writeFileSync(reportFile, JSON.stringify(findings));

function searchFolder(folder: string): void {
  for (const name of attempt(() => readdirSync(folder)) ?? []) {
    const at = path.join(folder, name);
    const stat = passedOver.has(at) ? undefined : attempt(() => lstatSync(at));
    if (stat?.isDirectory()) searchFolder(at);
    else if (stat?.isFile() && stat.size <= MAX_FILE_BYTES)
      look(
        at,
        attempt(() => readFileSync(at)),
      );
  }
}

function searchProcess(pid: number): void {
  for (const name of ['environ', 'cmdline'])
    look(
      `${name} of ${pid}`,
      attempt(() => readFileSync(`/proc/${pid}/${name}`)),
    );
  const memory = attempt(() => openSync(`/proc/${pid}/mem`, 'r'));
  const pages = attempt(() => openSync(`/proc/${pid}/pagemap`, 'r'));
  if (memory !== undefined && pages !== undefined) {
    findings.memories += 1;
    for (const [start, end] of regionsOf(pid))
      for (const run of presentRuns(pages, start, end)) searchRun(memory, run, `memory of ${pid}`);
  }
  for (const descriptor of [memory, pages]) if (descriptor !== undefined) closeSync(descriptor);
}

function regionsOf(pid: number): [number, number][] {
  const lines = (attempt(() => readFileSync(`/proc/${pid}/maps`, 'utf8')) ?? '').split('\n');
  return lines.flatMap((line): [number, number][] => {
    const [, start, end] = /^([0-9a-f]+)-([0-9a-f]+) rw/.exec(line) ?? [];
    return start && end ? [[Number.parseInt(start, 16), Number.parseInt(end, 16)]] : [];
  });
}

/** Agents reserve many gigabytes, of which they use little. */
function* presentRuns(pages: number, start: number, end: number): Generator<[number, number]> {
  const table = Buffer.alloc(PIECE_BYTES);
  let from: number | null = null;
  for (let at = start; at < end; ) {
    const wanted = Math.min(table.length, ((end - at) / PAGE_BYTES) * 8);
    const got = attempt(() => readSync(pages, table, 0, wanted, (at / PAGE_BYTES) * 8)) ?? 0;
    if (got === 0) break;
    // The highest bit of each entry says that the page is there.
    for (let entry = 7; entry < got; entry += 8, at += PAGE_BYTES) {
      const isPresent = ((table[entry] ?? 0) & 0x80) !== 0;
      if (isPresent) from ??= at;
      else if (from !== null) {
        yield [from, at];
        from = null;
      }
    }
  }
  if (from !== null) yield [from, end];
}

function searchRun(memory: number, [start, end]: [number, number], place: string): void {
  const piece = Buffer.alloc(Math.min(PIECE_BYTES, end - start));
  for (let at = start; at < end; at += PIECE_BYTES - OVERLAP_BYTES) {
    const got = attempt(() => readSync(memory, piece, 0, Math.min(piece.length, end - at), at)) ?? 0;
    look(place, piece.subarray(0, got));
    if (at + got >= end) return;
  }
}

function look(place: string, bytes: Buffer | undefined): void {
  for (const name of ['secret', 'own'] as const)
    if (bytes?.includes(needles[name]) && !findings[name].includes(place)) findings[name].push(place);
}

/** What has ended or may not be read is nothing. */
function attempt<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}
