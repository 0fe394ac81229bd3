import { closeSync, constants, fsync, lstatSync, openSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { listFolder } from './list-folder.ts';
import { makeOwnFolder } from './make-own-folder.ts';
import type { EngineEvent } from './protocol.ts';
import { readOwnJson } from './read-own-file.ts';
import { discard } from './set-aside.ts';
import { MAX_OWN_FILES } from './tidy-home.ts';

type TurnFinished = Extract<EngineEvent, { type: 'turn.finished' }>['payload'];
export type TurnOutcome = Pick<TurnFinished, 'outcome' | 'error' | 'failure'>;

/** A turn that was begun; its outcome is set once it is known and about to be reported. */
export type JournalEntry = { id: string; chatId: string; outcome: TurnOutcome | null };

export type Journal = {
  /** Whether the turn was ever begun, by this process or one before it. */
  has(id: string): boolean;
  /** Resolves when the entry is on the disk, so that not even a power cut makes the turn run twice. */
  write(entry: JournalEntry): Promise<void>;
  /** The turn is over and reported. */
  finish(id: string): Promise<void>;
  unfinished(): JournalEntry[];
};

/** Keeps one file per turn: `<id>.json` while it is unfinished, `<id>.done` afterwards. */
export function openJournal(folder: string, { keep }: { keep: number }): Journal {
  const found = listFiles(folder);
  const cutOff = new Set(found.filter((name) => name.endsWith('.tmp') || isEmptyEntry(folder, name)));
  for (const name of cutOff) discard(join(folder, name), { beside: folder });
  const names = found.filter((name) => !cutOff.has(name));
  const known = new Set(names.map(idOf).filter((id) => id !== null));
  const entries = new Map(
    names
      .filter((name) => name.endsWith('.json'))
      .slice(0, MAX_UNFINISHED)
      .map((name) => readEntry(folder, name))
      .filter((entry) => entry !== null)
      .map((entry) => [entry.id, entry]),
  );

  function trim(): void {
    if (known.size <= keep + spare) return;
    const oldest = listFiles(folder)
      .filter((name) => name.endsWith('.done'))
      .map((name) => ({ name, at: lstatSync(join(folder, name), { throwIfNoEntry: false })?.mtimeMs ?? 0 }))
      .sort((a, b) => a.at - b.at)
      .slice(0, known.size - keep);
    for (const { name } of oldest) {
      rmSync(join(folder, name), { force: true });
      known.delete(idOf(name) ?? '');
    }
  }

  return {
    has: (id) => known.has(id),
    async write(entry) {
      const temporary = join(folder, `${entry.id}.tmp`);
      const place = join(folder, `${entry.id}.json`);
      makeOwnFolder(folder);
      using draft = writeNew(temporary, JSON.stringify(entry));
      if (known.has(entry.id)) {
        // Only what is on the disk takes the place of another entry.
        await sync(draft.descriptor);
        renameSync(temporary, place);
      } else {
        // The first one goes there together with its name, which is half the time: a power cut may leave it empty, and
        // then nobody has begun anything yet.
        renameSync(temporary, place);
        await sync(draft.descriptor);
      }
      await syncFolder(folder);
      known.add(entry.id);
      entries.set(entry.id, entry);
    },
    async finish(id) {
      renameSync(join(folder, `${id}.json`), join(folder, `${id}.done`));
      await syncFolder(folder);
      entries.delete(id);
      trim();
    },
    unfinished: () => [...entries.values()],
  };
}

/** Looking at the age of every file is worth it only once in a while. */
const spare = 100;
/** More turns than run at once in any workspace. */
const MAX_UNFINISHED = 1_000;
/** The sentence of an outcome is shorter than a tenth of it. */
const MAX_ENTRY_BYTES = 65_536;

/** Where the disk cannot be used there is nothing to read, and every turn is refused when it is to be written. */
function listFiles(folder: string): string[] {
  try {
    makeOwnFolder(folder);
    return (listFolder(folder, MAX_OWN_FILES) ?? []).map(({ name }) => name).sort();
  } catch {
    return [];
  }
}

/** What a power cut leaves of a first entry: a name without the bytes. The turn was not begun, and may be sent again. */
function isEmptyEntry(folder: string, name: string): boolean {
  if (!name.endsWith('.json')) return false;
  const stats = lstatSync(join(folder, name), { throwIfNoEntry: false });
  return stats?.isFile() === true && stats.size === 0;
}

function idOf(name: string): string | null {
  return /^(.+)\.(?:json|done)$/.exec(name)?.[1] ?? null;
}

/** Null for what is no entry: anybody may have written it, and what it says is reported. */
function readEntry(folder: string, name: string): JournalEntry | null {
  const entry = readOwnJson(join(folder, name), MAX_ENTRY_BYTES);
  if (!isRecord(entry)) return null;
  const { id, chatId, outcome } = entry;
  if (!isId(id) || !isId(chatId) || `${id}.json` !== name) return null;
  return outcome === null || isOutcome(outcome) ? { id, chatId, outcome } : null;
}

function isOutcome(value: unknown): value is TurnOutcome {
  if (!isRecord(value)) return false;
  const { outcome, error, failure } = value;
  return (
    ['completed', 'failed', 'interrupted'].includes(String(outcome)) &&
    (error === null || (typeof error === 'string' && error.length <= MAX_SENTENCE)) &&
    (failure === undefined || failure === null || typeof failure === 'string')
  );
}

const MAX_SENTENCE = 4_000;

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}

function isId(value: unknown): value is string {
  return typeof value === 'string' && /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(value);
}

/** As a new file, so that nothing that somebody has put there is opened. */
function writeNew(file: string, text: string): OpenFile {
  rmSync(file, { recursive: true, force: true });
  const draft = openFile(file, 'wx');
  try {
    writeFileSync(draft.descriptor, text);
    return draft;
  } catch (error) {
    draft[Symbol.dispose]();
    throw error;
  }
}

/** A renamed file is where it belongs after a power cut only when its folder was synced too. */
async function syncFolder(folder: string): Promise<void> {
  using opened = openFile(folder, constants.O_RDONLY | constants.O_DIRECTORY);
  await sync(opened.descriptor);
}

type OpenFile = Disposable & { descriptor: number };
/** Only this is left to another thread: everything else is usually done before one could be asked. */
const sync = promisify(fsync);

function openFile(file: string, flags: string | number): OpenFile {
  const descriptor = openSync(file, flags, 0o600);
  return { descriptor, [Symbol.dispose]: () => closeSync(descriptor) };
}
