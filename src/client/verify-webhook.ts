import { createHmac, timingSafeEqual } from 'node:crypto';
import { type WebhookEvent, webhookEvent } from '../contract/webhook.ts';

export type { WebhookEvent } from '../contract/webhook.ts';

type HeaderRecord = Record<string, string | readonly string[] | undefined>;

export type ReceivedWebhook = {
  /** The body as it came: parsed and written again it may be other bytes, which are not what was signed. */
  body: string | Uint8Array;
  headers: Headers | HeaderRecord;
  /** What was given as `secret` beside the `url` at the creation of the replica. */
  secret: string;
  /**
   * By how much the time of the signature may differ from now; 300 when absent. Null takes what is signed without a
   * time too, and with it what somebody has recorded and sends again.
   */
  toleranceSeconds?: number | null;
  /** Replaces the clock. */
  now?: () => Date;
};

/** The request does not come from the service, or is too old. */
export class WebhookVerificationError extends Error {
  override name = 'WebhookVerificationError';
  readonly reason: 'unsigned' | 'wrong_signature' | 'too_old' | 'no_event';

  constructor(reason: WebhookVerificationError['reason'], sentence: string) {
    super(sentence);
    this.reason = reason;
  }
}

const DEFAULT_TOLERANCE_SECONDS = 300;

/** The event that a request carries; throws a `WebhookVerificationError` unless the secret's owner has signed it. */
export function verifyWebhook(received: ReceivedWebhook): WebhookEvent {
  const { body, secret, toleranceSeconds = DEFAULT_TOLERANCE_SECONDS, now = () => new Date() } = received;
  // An HMAC with an empty key proves nothing, and an unset variable is easily taken for a secret.
  if (!secret) throw new TypeError('verifyWebhook needs the secret');
  const bytes = bytesOf(body);
  const plain = headerOf(received.headers, 'x-service-signature');
  const timed = headerOf(received.headers, 'x-service-signature-v2');
  if (toleranceSeconds !== null) verifyTimed({ timed, bytes, secret, toleranceSeconds, now });
  else if (!isEqual(plain ?? unsigned(), `sha256=${hmac(secret, bytes)}`)) throw wrong();
  return parse(bytes);
}

/** Frameworks that parse bodies by themselves leave something else behind, of which no signature can be checked. */
function bytesOf(body: unknown): Buffer {
  if (typeof body === 'string') return Buffer.from(body);
  if (body instanceof Uint8Array) return Buffer.from(body.buffer, body.byteOffset, body.byteLength);
  throw new TypeError('verifyWebhook needs the body as it came, as text or bytes');
}

function verifyTimed(signed: {
  timed: string | null;
  bytes: Buffer;
  secret: string;
  toleranceSeconds: number;
  now: () => Date;
}): void {
  const { timed, bytes, secret, toleranceSeconds, now } = signed;
  const [, timestamp = '', signature = ''] =
    /^t=(\d{1,12}),v1=([0-9a-f]{64})$/.exec(timed ?? unsigned()) ?? [];
  if (!isEqual(signature, hmac(secret, Buffer.from(`${timestamp}.`), bytes))) throw wrong();
  const ageSeconds = Math.abs(now().getTime() / 1_000 - Number(timestamp));
  if (ageSeconds <= toleranceSeconds) return;
  throw new WebhookVerificationError(
    'too_old',
    `The webhook was signed ${Math.round(ageSeconds)} seconds away from now, and ${toleranceSeconds} are tolerated.`,
  );
}

function hmac(secret: string, ...parts: Buffer[]): string {
  const digest = createHmac('sha256', secret);
  for (const part of parts) digest.update(part);
  return digest.digest('hex');
}

/** Takes as long for what is nearly right as for what is wrong. */
function isEqual(given: string, right: string): boolean {
  const [a, b] = [Buffer.from(given), Buffer.from(right)];
  return a.length === b.length && timingSafeEqual(a, b);
}

function headerOf(headers: Headers | HeaderRecord, name: string): string | null {
  // Those of other implementations of fetch are of other classes.
  if (typeof headers.get === 'function') return headers.get(name);
  const found = Object.entries(headers).find(([key]) => key.toLowerCase() === name)?.[1];
  return (typeof found === 'string' ? found : found?.[0]) ?? null;
}

function parse(bytes: Buffer): WebhookEvent {
  try {
    return webhookEvent.parse(JSON.parse(bytes.toString()));
  } catch {
    throw new WebhookVerificationError(
      'no_event',
      'The webhook is signed, but is no event that is known here.',
    );
  }
}

function unsigned(): never {
  throw new WebhookVerificationError('unsigned', 'The webhook has no signature.');
}

function wrong(): WebhookVerificationError {
  return new WebhookVerificationError('wrong_signature', 'The signature of the webhook is wrong.');
}
