/*
 * Skills that were read from git, kept in memory. Plans are made on the way to a workspace that somebody waits for, so
 * git is asked only when nothing useful is on the shelf, and then once for all who ask at the same time. A read belongs
 * to the shelf and not to those who wait for it: who has waited long enough goes on without it, and the next one finds
 * it done. A read that failed is not tried again for a while.
 */
import { addAbortListener } from 'node:events';
import type { Logger } from 'pino';
import { GitError } from '../git/failure.ts';
import type { GitRemote } from '../git/remote.ts';
import { createByteLru } from './byte-lru.ts';
import { createLanes } from './lanes.ts';
import type { SkillReading } from './read-skills.ts';

/** A reading on the shelf; `readAt` is when git was asked for it. */
export type ShelvedReading = { commit: string; readAt: Date };

export type SkillOrder = {
  /** What is read, and for which organization: another one may not be allowed to. */
  key: string;
  organizationId: string;
  /** Where it is read, for the log. */
  url: string;
  /** Whether a reading can be used as it is, only while another is under way, or not at all. */
  judge(shelved: ShelvedReading): 'current' | 'stale' | 'outdated';
  /** Asked for only when git has to be; it may have to ask the git host for a token. */
  findRemote(): Promise<GitRemote>;
  read(remote: GitRemote, signal: AbortSignal): Promise<SkillReading>;
};

/** What is there now. A `problem` says in a sentence why it is missing, or older than it should be. */
export type TakenSkills = { reading: SkillReading | null; problem: string | null };

export type SkillShelf = {
  take(order: SkillOrder, signal: AbortSignal): Promise<TakenSkills>;
  /** Ends what is being read. */
  close(): Promise<void>;
};

type Parts = {
  log: Pick<Logger, 'info' | 'error'>;
  now: () => Date;
  maxBytes?: number;
  /** How long somebody waits for a read, counted from its begin. */
  waitMs?: number;
};
type Shelved = { reading: SkillReading | null; readAt: Date; failure: { at: Date; sentence: string } | null };
type Flight = { startedAt: Date; done: Promise<TakenSkills>; patience: AbortSignal };

const MAX_BYTES = 64 * 1_048_576;
const WAIT_MS = 10_000;
/** Longer than anybody waits, so that a large repository is there the next time. */
const READ_MS = 60_000;
const RETRY_AFTER_MS = 30_000;
/** Reads of one organization side by side. */
const LANES = 4;
/** What an entry takes besides the contents. */
const ENTRY_BYTES = 1_024;

export function createSkillShelf(parts: Parts): SkillShelf {
  const { log, now, maxBytes = MAX_BYTES, waitMs = WAIT_MS } = parts;
  const shelf = createByteLru<Shelved>(maxBytes);
  const flights = new Map<string, Flight>();
  const inLane = createLanes(LANES);
  const closing = new AbortController();

  async function take(order: SkillOrder, signal: AbortSignal): Promise<TakenSkills> {
    const shelved = shelf.get(order.key);
    const verdict = shelved ? judge(order, shelved) : 'outdated';
    const reading = shelved?.reading ?? null;
    if (verdict === 'current') return { reading, problem: null };
    const failure = shelved?.failure;
    if (failure && now().getTime() - failure.at.getTime() < RETRY_AFTER_MS) {
      return { reading, problem: failure.sentence };
    }
    const flight = joinable(order) ?? start(order);
    if (verdict === 'stale') return { reading, problem: null };
    try {
      return await orAborted(flight.done, AbortSignal.any([signal, flight.patience]));
    } catch (error) {
      signal.throwIfAborted();
      if (!flight.patience.aborted) throw error;
      return { reading, problem: `The git host did not answer within ${waitMs / 1_000} seconds.` };
    }
  }

  /** A read that is under way, unless it began too early to have seen what is asked for. */
  function joinable(order: SkillOrder): Flight | null {
    const flight = flights.get(order.key);
    if (!flight || order.judge({ commit: '', readAt: flight.startedAt }) === 'outdated') return null;
    return flight;
  }

  function start(order: SkillOrder): Flight {
    const startedAt = now();
    const limit = AbortSignal.any([closing.signal, AbortSignal.timeout(READ_MS)]);
    const reading = inLane(order.organizationId, async () => {
      limit.throwIfAborted();
      return order.read(await order.findRemote(), limit);
    });
    const done = reading.then(
      (read) => keep(order, { reading: read, readAt: startedAt, failure: null }),
      (error: unknown) => keepFailure(order, { error, isLate: limit.aborted }),
    );
    const flight = { startedAt, done, patience: AbortSignal.timeout(waitMs) };
    flights.set(order.key, flight);
    void done.finally(() => flights.get(order.key) === flight && flights.delete(order.key));
    return flight;
  }

  function keep({ key }: SkillOrder, shelved: Shelved): TakenSkills {
    const other = shelf.get(key);
    const isOvertaken = other?.reading && other.readAt > shelved.readAt;
    if (!isOvertaken) shelf.set(key, shelved, ENTRY_BYTES + bytesOf(shelved.reading));
    return { reading: shelved.reading, problem: shelved.failure?.sentence ?? null };
  }

  /** What was read before stays, for the time being. */
  function keepFailure(
    order: SkillOrder,
    { error, isLate }: { error: unknown; isLate: boolean },
  ): TakenSkills {
    const isForeign = error instanceof GitError || isLate;
    if (!closing.signal.aborted) {
      const fields = { err: error, url: order.url, organizationId: order.organizationId };
      if (isForeign) log.info(fields, 'workspace_plan.skills_unread');
      else log.error(fields, 'workspace_plan.skills_unread');
    }
    const before = shelf.get(order.key);
    const sentence =
      error instanceof GitError
        ? error.message
        : isLate
          ? 'Reading the repository takes too long.'
          : 'They could not be read because of a fault of this service.';
    return keep(order, {
      reading: before?.reading ?? null,
      readAt: before?.readAt ?? now(),
      failure: { at: now(), sentence },
    });
  }

  return {
    take,
    async close() {
      closing.abort();
      await Promise.all([...flights.values()].map(({ done }) => done));
    },
  };
}

function judge(order: SkillOrder, { reading, readAt }: Shelved): ReturnType<SkillOrder['judge']> {
  return reading ? order.judge({ commit: reading.commit, readAt }) : 'outdated';
}

/** Contents are kept in base64, which has a byte for each character. */
function bytesOf(reading: SkillReading | null): number {
  const files = reading?.skills.flatMap((skill) => skill.files) ?? [];
  return files.reduce((sum, { path, contentBase64 }) => sum + 2 * path.length + contentBase64.length, 0);
}

async function orAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  const aborted = Promise.withResolvers<never>();
  using _listening = addAbortListener(signal, () => aborted.reject(signal.reason));
  return await Promise.race([promise, aborted.promise]);
}
