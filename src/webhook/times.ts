export type WebhookTimes = {
  /** The pause before each retry. */
  backOffMs: readonly number[];
  /** How long an attempt may take in all. */
  limitMs: number;
  /** How long a delivery belongs to the process that has taken it, unless that one says how the attempt ended. */
  leaseMs: number;
  /** How long at most passes until somebody looks for what is due. */
  lookMs: number;
  /** How long attempts may go on when the service stops. */
  graceMs: number;
};

export const webhookTimes: WebhookTimes = {
  backOffMs: [1_000, 5_000, 25_000],
  limitMs: 10_000,
  leaseMs: 15_000,
  lookMs: 1_000,
  graceMs: 1_000,
};
