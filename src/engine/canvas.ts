import { type FSWatcher, lstatSync, watch } from 'node:fs';
import { join } from 'node:path';
import { type CanvasFile, listNames, readCanvasFile } from './canvas-folder.ts';
import { coalesce } from './coalesce.ts';
import type { EngineContext, GatewayRequest } from './context.ts';
import { engineLimits } from './limits.ts';
import { makeOwnFolder } from './make-own-folder.ts';
import { openSandboxState } from './sandbox-state.ts';

export type Canvas = {
  /** Makes the folder and follows it from here on. */
  start(): void;
  /** Resolves when the gateway has the items as they are; rejects when it does not take them. */
  sync(): Promise<void>;
  close(): void;
};

/** What the gateway has of an item; the hash is null for one above the limit, of which it knows the size alone. */
type Uploaded = { size: number; version: string; sha256: string | null };

/**
 * Copies the plain files in ~/.replica/canvas out whenever they change. The folder belongs to the agent: it may vanish, be
 * something else, or hold anything.
 */
export function createCanvas(context: EngineContext): Canvas {
  const folder = join(context.folder, 'canvas');
  const state = openSandboxState(context, { name: 'canvas', isEntry: isUploaded });
  const uploaded = state.entries;
  const closing = new AbortController();
  let watched: { watcher: FSWatcher; inode: number } | null = null;
  let timer: NodeJS.Timeout | null = null;
  let retryMs = coalesceMs;
  let isSaved = true;

  const sync = coalesce(async () => {
    followFolder();
    try {
      const { present, isChanging } = await uploadChanged();
      for (const name of [...uploaded.keys()].filter((key) => !present.has(key))) await remove(name);
      retryMs = coalesceMs;
      if (isChanging) schedule(coalesceMs);
    } catch (error) {
      retryMs = Math.min(2 * retryMs, maxRetryMs);
      schedule(retryMs);
      throw error;
    } finally {
      save();
    }
  });

  async function uploadChanged(): Promise<{ present: Set<string>; isChanging: boolean }> {
    const present = new Set<string>();
    let isChanging = false;
    for (const name of await listNames(folder)) {
      if (present.size === engineLimits.canvasItems) break;
      const file = await readSettled(name);
      if (file === null) continue;
      present.add(name);
      if (file === 'changing') isChanging = true;
      else if (isNews(file, uploaded.get(name))) await upload(file);
    }
    return { present, isChanging };
  }

  async function readSettled(name: string): Promise<CanvasFile | 'changing' | null> {
    const knownVersion = uploaded.get(name)?.version;
    let file: CanvasFile | 'changing' | null = 'changing';
    for (let attempt = 0; attempt < readAttempts && file === 'changing'; attempt += 1)
      file = await readCanvasFile({ folder, name, knownVersion, maxBytes: engineLimits.canvasItemBytes });
    return file;
  }

  async function upload({ name, size, version, content, sha256 }: CanvasFile): Promise<void> {
    const known = uploaded.get(name);
    if (sha256 === null || known?.sha256 !== sha256) {
      const path = `/engine/canvas/${encodeURIComponent(name)}`;
      const what = content === null ? { headers: { 'x-size-bytes': String(size) } } : { body: content };
      // A workspace that nobody has claimed yet has no canvas; the item is sent again when it has one.
      if ((await send({ method: 'PUT', path, ...what })) === 404) return;
    }
    uploaded.set(name, { size, version, sha256 });
    isSaved = false;
  }

  async function remove(name: string): Promise<void> {
    await send({ method: 'DELETE', path: `/engine/canvas/${encodeURIComponent(name)}` });
    uploaded.delete(name);
    isSaved = false;
  }

  /** What the gateway refuses it would refuse again; only what it could not do now is worth another try. */
  async function send(request: GatewayRequest): Promise<number> {
    const signal = AbortSignal.any([closing.signal, AbortSignal.timeout(requestMs)]);
    const { status } = await context.gateway.request({ ...request, signal });
    if (status >= 500 || status === 408 || status === 429)
      throw new Error(`the gateway answers ${status} to a canvas item`);
    if (status >= 300 && status !== 404) context.log(`a canvas item was refused with ${status}`);
    return status;
  }

  /** What a kill leaves unsaved is sent a second time, which changes nothing. */
  function save(): void {
    if (isSaved) return;
    state.save();
    isSaved = true;
  }

  function schedule(delayMs: number): void {
    if (closing.signal.aborted) return;
    timer ??= setTimeout(() => {
      timer = null;
      sync().catch((error: unknown) => context.log(`the canvas is not copied: ${String(error)}`));
    }, delayMs);
  }

  /** The folder is made anew where it is gone, and followed anew where it is another one. */
  function followFolder(): void {
    try {
      makeOwnFolder(folder);
      const stats = lstatSync(folder);
      if (!stats.isDirectory()) throw new Error('it is no folder');
      const { ino } = stats;
      if (closing.signal.aborted || watched?.inode === ino) return;
      watched?.watcher.close();
      watched = { watcher: watch(folder, () => schedule(coalesceMs)), inode: ino };
      watched.watcher.on('error', () => schedule(coalesceMs));
    } catch (error) {
      // The kernel allows only so many watches, and something else may stand there: it is looked at every now and then.
      watched?.watcher.close();
      watched = null;
      context.log(`the canvas folder cannot be followed: ${String(error)}`);
      schedule(pollMs);
    }
  }

  return {
    start() {
      followFolder();
      schedule(coalesceMs);
    },
    sync,
    close() {
      closing.abort();
      watched?.watcher.close();
      if (timer) clearTimeout(timer);
    },
  };
}

const coalesceMs = 300;
const maxRetryMs = 30_000;
const pollMs = 5_000;
const requestMs = 60_000;
const readAttempts = 3;

function isNews(file: CanvasFile, known: Uploaded | undefined): boolean {
  if (known === undefined || known.size !== file.size) return true;
  return known.version === '' || known.version !== file.version;
}

function isUploaded(value: unknown): value is Uploaded {
  const { size, version, sha256 } = (value ?? {}) as Record<string, unknown>;
  return (
    typeof size === 'number' && typeof version === 'string' && (sha256 === null || typeof sha256 === 'string')
  );
}
