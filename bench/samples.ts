/** The value below which this share of the samples lies; of few samples it is one of them. */
export function percentile(samples: readonly number[], share: number): number {
  const sorted = samples.toSorted((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? Number.NaN;
}

export const median = (samples: readonly number[]): number => percentile(samples, 0.5);

/** Several percentiles in one cell of a table. */
export function describeMs(samples: readonly number[], shares: readonly number[]): string {
  return `${shares.map((share) => formatMs(percentile(samples, share))).join(' / ')} ms`;
}

export function formatMs(ms: number): string {
  return ms < 10 ? ms.toFixed(1) : ms.toFixed(0);
}
