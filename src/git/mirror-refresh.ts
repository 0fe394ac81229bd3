import { randomUUID } from 'node:crypto';
import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Logger } from 'pino';
import type { Lookup } from '../lib/address-guard.ts';
import { withDeadline } from './deadline.ts';
import { buildMirror, updateMirror } from './mirror-fetch.ts';
import { askRemote, isKind, type MirrorRefs } from './mirror-refs.ts';
import { isWhole, type MirrorPlace, type MirrorState, readState, writeState } from './mirror-state.ts';
import { type CheckedRemote, checkRemote, type GitRemote } from './remote.ts';
import type { Runner } from './runner.ts';

type RefreshOptions = {
  cacheDir: string;
  run: Runner;
  allowPrivateTargets: boolean;
  lookup: Lookup | undefined;
  log: Logger;
  askTimeoutMs: number;
  staleMs: number;
  maxBytes: number;
  now: () => number;
};

type Asked = { remote: CheckedRemote; offer: MirrorRefs; signal: AbortSignal };
type Built = Pick<MirrorState, 'repository' | 'builtAt'>;

/** Brings a mirror up to date. The caller holds its lock. */
export function createRefresh(options: RefreshOptions) {
  const { cacheDir, run, allowPrivateTargets, lookup, log, maxBytes, now } = options;

  async function ask(remote: GitRemote, signal: AbortSignal): Promise<Omit<Asked, 'signal'>> {
    return withDeadline({ signal, timeoutMs: options.askTimeoutMs }, async (signal) => {
      const checked = await checkRemote(remote, { cacheDir, allowPrivateTargets, lookup, signal });
      return askRemote({ run, remote: checked, signal });
    });
  }

  /** Null when the repository is of no use, so that it has to be built anew. */
  async function update(place: MirrorPlace, held: MirrorState, asked: Asked): Promise<Built | null> {
    try {
      await updateMirror({ run, maxBytes, folder: join(place.folder, held.repository), ...asked });
      return held;
    } catch (error) {
      // One that has grown too large may hold what the remote has long dropped.
      if (!isKind(error, 'failed', 'too_large')) throw error;
      log.warn({ mirror: place.folder, err: error }, 'mirror.unusable');
      return null;
    }
  }

  async function build(place: MirrorPlace, asked: Asked): Promise<Built> {
    const repository = `${randomUUID()}.git`;
    const folder = join(place.folder, repository);
    try {
      await buildMirror({ run, maxBytes, folder, ...asked });
      return { repository, builtAt: now() };
    } catch (error) {
      await rm(folder, { recursive: true, force: true });
      throw error;
    }
  }

  return async function refresh(
    place: MirrorPlace,
    { remote, signal }: { remote: GitRemote; signal: AbortSignal },
  ): Promise<{ state: MirrorState; isStale: boolean }> {
    await mkdir(place.folder, { recursive: true, mode: 0o700 });
    const read = await readState(place);
    const held = read !== null && (await isWhole(place, read)) ? read : null;
    const askedAt = now();
    try {
      const asked = { ...(await ask(remote, signal)), signal };
      const updated = held === null ? null : await update(place, held, asked);
      const { repository, builtAt } = updated ?? (await build(place, asked));
      const state = { repository, builtAt, askedAt };
      await writeState(place, state);
      return { state, isStale: false };
    } catch (error) {
      const ageMs = askedAt - (held?.askedAt ?? 0);
      const isAway = isKind(error, 'unreachable', 'timeout');
      if (held === null || signal.aborted || !isAway || ageMs > options.staleMs) throw error;
      log.warn({ mirror: place.folder, ageMs, err: error }, 'mirror.stale');
      return { state: held, isStale: true };
    }
  };
}
