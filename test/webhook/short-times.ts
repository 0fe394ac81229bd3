import type { WebhookTimes } from '../../src/webhook/times.ts';

/** Nobody is waited for as long as in earnest. */
export const shortTimes: WebhookTimes = {
  backOffMs: [30, 60, 90],
  limitMs: 400,
  leaseMs: 1_500,
  lookMs: 50,
  graceMs: 100,
};
