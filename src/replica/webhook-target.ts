import { AppError } from '../contract/error.ts';
import { parseTargetUrl } from '../lib/target-url.ts';

export type WebhookTarget = { url: string; secret: string | null };

/** Where events shall be told, or a refusal of an address that users may not have called. */
export function parseWebhookTarget(
  given: string | { url: string; secret?: string | undefined },
  { allowPrivateTargets }: { allowPrivateTargets: boolean },
): WebhookTarget {
  const { url: wanted, secret = null } = typeof given === 'string' ? { url: given } : given;
  const { url, refusal } = parseTargetUrl(wanted, { field: 'webhook_url', allowPrivateTargets });
  if (url === null) throw new AppError('invalid_request', refusal);
  return { url: url.href, secret };
}
