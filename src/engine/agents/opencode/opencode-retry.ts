export type RetryLimits = {
  /** Opencode itself gives up after so many, and then tells why; other versions of it never do. */
  mostRetries: number;
  /** From the first retry to the beginning of the last one. A provider may ask for a wait of hours. */
  mostMs: number;
};

export const usualRetryLimits: RetryLimits = { mostRetries: 5, mostMs: 120_000 };

/** Tells when a model is not worth another try. Retries are counted from one on for every request to the model. */
export function watchRetries({ mostRetries, mostMs }: RetryLimits): {
  isEnough(retry: { attempt: number; atMs: number; nextMs: number }): boolean;
} {
  let firstMs = 0;
  return {
    isEnough({ attempt, atMs, nextMs }) {
      if (attempt <= 1) firstMs = atMs;
      return attempt > mostRetries || nextMs - firstMs > mostMs;
    },
  };
}
