// Token buckets by key. A bucket is one number: the time at which it is full again. A full bucket and an absent one
// are the same, so memory holds only keys seen within the last `capacity / refillPerSecond` seconds, and never more
// than `maxEntries`.
//
// Times are kept as milliseconds since the first take × refillPerSecond. In that unit a token is exactly 1000, so whole
// milliseconds and a whole rate never round, and the numbers stay small enough for any rate.

export interface TokenBuckets {
  /** Takes one token of this key's bucket, when there is one. */
  take(key: string, nowMs: number): TakeResult;
  /** Whether the next take would be refused; takes nothing. */
  isEmpty(key: string, nowMs: number): boolean;
  /** How many buckets are held. */
  readonly size: number;
}

export interface TakeResult {
  allowed: boolean;
  /** Tokens a full bucket holds. */
  limit: number;
  /** Whole tokens left after this call. */
  remaining: number;
  /** Seconds until the bucket is full, rounded up. */
  resetSeconds: number;
  /** Seconds until the next token, rounded up; 0 when allowed. */
  retryAfterSeconds: number;
}

const TOKEN = 1000;
const SWEPT_PER_TAKE = 4;

export function createTokenBuckets(options: {
  capacity: number;
  refillPerSecond: number;
  maxEntries: number;
}): TokenBuckets {
  const { capacity, refillPerSecond, maxEntries } = options;
  if (!Number.isSafeInteger(capacity) || capacity < 1)
    throw new RangeError('capacity is a whole number from 1');
  if (!Number.isFinite(refillPerSecond) || refillPerSecond <= 0)
    throw new RangeError('refillPerSecond is above 0');
  if (!Number.isSafeInteger(maxEntries) || maxEntries < 1)
    throw new RangeError('maxEntries is a whole number from 1');

  // In the order of the last take: the front holds the buckets that are soonest full.
  const fullAt = new Map<string, number>();
  const whole = capacity * TOKEN;
  let originMs: number | undefined;

  function toUnits(nowMs: number): number {
    originMs ??= nowMs;
    return (nowMs - originMs) * refillPerSecond;
  }

  /** A clock that was set back must not lock a caller out for longer than an empty bucket does. */
  function missingAt(key: string, now: number): number {
    return Math.min(Math.max((fullAt.get(key) ?? now) - now, 0), whole);
  }

  function toSeconds(span: number): number {
    return Math.ceil(span / refillPerSecond / 1000);
  }

  function dropFullAndSurplus(now: number): void {
    let swept = 0;
    for (const [key, full] of fullAt) {
      if (fullAt.size <= maxEntries && (full > now || swept >= SWEPT_PER_TAKE)) return;
      fullAt.delete(key);
      swept += 1;
    }
  }

  return {
    get size() {
      return fullAt.size;
    },

    isEmpty(key, nowMs) {
      return missingAt(key, toUnits(nowMs)) + TOKEN > whole;
    },

    take(key, nowMs) {
      const now = toUnits(nowMs);
      const missing = missingAt(key, now);
      const allowed = missing + TOKEN <= whole;
      const missingAfter = allowed ? missing + TOKEN : missing;
      fullAt.delete(key);
      fullAt.set(key, now + missingAfter);
      dropFullAndSurplus(now);
      return {
        allowed,
        limit: capacity,
        remaining: Math.floor((whole - missingAfter) / TOKEN),
        resetSeconds: toSeconds(missingAfter),
        retryAfterSeconds: allowed ? 0 : toSeconds(missing + TOKEN - whole),
      };
    },
  };
}
