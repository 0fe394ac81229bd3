import { mkdirSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { open, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { EngineEvent } from './protocol.ts';

type TurnFinished = Extract<EngineEvent, { type: 'turn.finished' }>['payload'];
export type TurnOutcome = Pick<TurnFinished, 'outcome' | 'error'>;

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
  const names = listFiles(folder);
  for (const name of names.filter((file) => file.endsWith('.tmp')))
    rmSync(join(folder, name), { force: true });
  const known = new Set(names.map(idOf).filter((id) => id !== null));
  const entries = new Map(
    names
      .filter((name) => name.endsWith('.json'))
      .map((name) => readEntry(folder, name))
      .filter((entry) => entry !== null)
      .map((entry) => [entry.id, entry]),
  );

  async function trim(): Promise<void> {
    if (known.size <= keep + spare) return;
    const oldest = readdirSync(folder)
      .filter((name) => name.endsWith('.done'))
      .map((name) => ({ name, at: statSync(join(folder, name)).mtimeMs }))
      .sort((a, b) => a.at - b.at)
      .slice(0, known.size - keep);
    for (const { name } of oldest) {
      await rm(join(folder, name), { force: true });
      known.delete(idOf(name) ?? '');
    }
  }

  return {
    has: (id) => known.has(id),
    async write(entry) {
      const temporary = join(folder, `${entry.id}.tmp`);
      await writeSynced(temporary, JSON.stringify(entry));
      await rename(temporary, join(folder, `${entry.id}.json`));
      await syncFolder(folder);
      known.add(entry.id);
      entries.set(entry.id, entry);
    },
    async finish(id) {
      await rename(join(folder, `${id}.json`), join(folder, `${id}.done`));
      await syncFolder(folder);
      entries.delete(id);
      await trim();
    },
    unfinished: () => [...entries.values()],
  };
}

/** Looking at the age of every file is worth it only once in a while. */
const spare = 100;

/** Where the disk cannot be used there is nothing to read, and every turn is refused when it is to be written. */
function listFiles(folder: string): string[] {
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    return readdirSync(folder);
  } catch {
    return [];
  }
}

function idOf(name: string): string | null {
  return /^(.+)\.(?:json|done)$/.exec(name)?.[1] ?? null;
}

function readEntry(folder: string, name: string): JournalEntry | null {
  try {
    const entry = JSON.parse(readFileSync(join(folder, name), 'utf8')) as JournalEntry;
    return typeof entry.chatId === 'string' && `${entry.id}.json` === name ? entry : null;
  } catch {
    return null;
  }
}

async function writeSynced(file: string, text: string): Promise<void> {
  const handle = await open(file, 'w', 0o600);
  try {
    await handle.writeFile(text);
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** A renamed file is where it belongs after a power cut only when its folder was synced too. */
async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
