import { join, resolve } from 'node:path';
import type { Logger } from 'pino';
import type { Lookup } from '../lib/address-guard.ts';
import { withDeadline } from './deadline.ts';
import { createFlights } from './mirror-flight.ts';
import { lockMirror } from './mirror-lock.ts';
import { createRefresh } from './mirror-refresh.ts';
import {
  isWhole,
  type MirrorPlace,
  type MirrorState,
  mark,
  markedAt,
  placeOf,
  readState,
} from './mirror-state.ts';
import { sweepMirrors } from './mirror-sweep.ts';
import type { GitRemote } from './remote.ts';
import { createRunner } from './runner.ts';

/**
 * Local copies of remotes, so that many sandboxes clone a repository that was fetched once.
 *
 * `mirrors/<hash of key and URL>` holds bare repositories and a state that says which of them is in use. One process at
 * a time brings a mirror up to date, under a lock of the kernel that dies with it; readers need none. A repository is
 * made under a new name and the state is replaced whole, so a kill at any moment leaves the old one or the new one. A
 * repository that was replaced stays for those who are still reading it, until the sweep.
 */
export type Mirrors = {
  /**
   * The mirror; the remote is asked again when it is older than `maxAgeMs` or something was pushed since. While the
   * remote is away, the mirror is good for a while as it is; when the remote refuses, so does this.
   */
  ensure(wanted: MirrorKey & { signal: AbortSignal; maxAgeMs?: number }): Promise<Mirror>;
  /** To be called after a push: what the mirror holds is old. */
  markOld(key: MirrorKey): Promise<void>;
  /** To be called when the mirror cannot be read: it is built anew the next time. */
  markBroken(key: MirrorKey): Promise<void>;
  /** Removes what nobody uses, the oldest when all together take too much room, and what was left behind. */
  sweep(): Promise<void>;
  /** Ends what is being fetched. */
  close(): Promise<void>;
};

/** `key` names the organization and its repository: no two of them share a mirror, even of the same URL. */
export type MirrorKey = { remote: GitRemote; key: string };

export type Mirror = {
  /** A bare repository, to be read only. */
  folder: string;
  /** The remote could not be reached, and this is what it held before. */
  isStale: boolean;
};

export type MirrorOptions = {
  /** Belongs to git alone; several processes may share it. */
  cacheDir: string;
  allowPrivateTargets: boolean;
  log: Logger;
  /** For one fetch as a whole. */
  timeoutMs?: number;
  /** For the question which branches the remote has. */
  askTimeoutMs?: number;
  /** How old a mirror may be without asking the remote. */
  freshMs?: number;
  /** How old a mirror may become while the remote is away. */
  staleMs?: number;
  /** For one mirror on disk. */
  maxBytes?: number;
  /** For all mirrors together; those in use are kept even beyond it. */
  maxTotalBytes?: number;
  lookup?: Lookup;
  now?: () => number;
};

const gibibyte = 1_073_741_824;
const minuteMs = 60_000;

export function createMirrors(options: MirrorOptions): Mirrors {
  const { allowPrivateTargets, lookup, log, now = Date.now } = options;
  const { freshMs = 2_000, staleMs = 10 * minuteMs } = options;
  const { timeoutMs = 30 * minuteMs, askTimeoutMs = minuteMs / 2 } = options;
  const { maxBytes = 4 * gibibyte, maxTotalBytes = 64 * gibibyte } = options;
  const cacheDir = resolve(options.cacheDir);
  const run = createRunner({ cacheDir, maxBytes });
  const shared = { cacheDir, run, allowPrivateTargets, lookup, log, now };
  const refresh = createRefresh({ ...shared, askTimeoutMs, staleMs, maxBytes });
  const flights = createFlights<Mirror>(now);
  const closing = new AbortController();
  const place = ({ key, remote }: MirrorKey) => placeOf(cacheDir, { key, url: remote.url });

  async function find(at: MirrorPlace, since: number): Promise<Mirror | null> {
    const state = await readState(at);
    // A time that lies ahead is from before the clock was set back.
    if (state === null || state.askedAt < since || state.askedAt > now() + minuteMs) return null;
    return (await isWhole(at, state)) ? toMirror(at, state) : null;
  }

  function fetch(at: MirrorPlace, { remote, since }: { remote: GitRemote; since: number }): Promise<Mirror> {
    return withDeadline({ signal: closing.signal, timeoutMs }, async (signal) => {
      const unlock = await lockMirror(at.lockFile, signal);
      try {
        // Another process may have done it meanwhile.
        const found = await find(at, since);
        if (found) return found;
        const { state, isStale } = await refresh(at, { remote, signal });
        return { ...toMirror(at, state), isStale };
      } finally {
        unlock();
      }
    });
  }

  return {
    async ensure({ remote, key, signal, maxAgeMs = freshMs }) {
      const at = place({ remote, key });
      const pushedAt = maxAgeMs === Number.POSITIVE_INFINITY ? 0 : await markedAt(at, 'pushed');
      const since = Math.max(now() - maxAgeMs, pushedAt + 1);
      const mirror =
        (await find(at, since)) ??
        (await flights.join({ key: at.folder, since, signal, work: () => fetch(at, { remote, since }) }));
      await mark(at, 'used', now());
      return mirror;
    },
    markOld: (key) => mark(place(key), 'pushed', now()),
    markBroken: (key) => mark(place(key), 'broken', now()),
    sweep: () => sweepMirrors({ cacheDir, run, maxTotalBytes, now, signal: closing.signal }),
    async close() {
      closing.abort(new Error('the service stops'));
      await flights.settle();
    },
  };
}

function toMirror(place: MirrorPlace, state: MirrorState): Mirror {
  return { folder: join(place.folder, state.repository), isStale: false };
}
