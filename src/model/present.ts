import type { TokenSums } from './ledger.ts';
import { toDollars } from './micros.ts';

/** Sums as callers see them. */
export function presentSums({ cost_micros, ...sums }: TokenSums) {
  return { ...sums, cost_usd: toDollars(cost_micros) };
}
