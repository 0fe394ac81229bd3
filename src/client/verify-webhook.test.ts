import { describe, expect, test } from 'vitest';
import { webhookHeaders } from '../webhook/signature.ts';
import { type ReceivedWebhook, verifyWebhook, WebhookVerificationError } from './verify-webhook.ts';

const at = new Date('2026-03-04T05:06:07Z');
const id = '0190a000-0000-7000-8000-000000000001';
const event = {
  id,
  type: 'replica.error',
  created_at: at.toISOString(),
  replica: { id, name: 'é', status: 'error', source: 'api', created_at: at.toISOString() },
  data: { message: 'The disk is full.' },
} as const;
const body = Buffer.from(JSON.stringify(event));
const signed = (signedBody = body) =>
  webhookHeaders({
    deliveryId: id,
    event: { id, type: 'replica.error' },
    replicaId: id,
    body: signedBody,
    secret: 'secret',
    at,
  });
const received = { body, headers: signed(), secret: 'secret', now: () => at };
const later = (seconds: number) => () => new Date(at.getTime() + seconds * 1_000);

function reasonOf(given: ReceivedWebhook): string {
  try {
    verifyWebhook(given);
    return 'taken';
  } catch (error) {
    return error instanceof WebhookVerificationError ? error.reason : `${error}`;
  }
}

describe('what the service has signed is taken', () => {
  const titled = Object.fromEntries(
    Object.entries(signed()).map(([name, value]) => [
      name.replaceAll(/\b[a-z]/g, (c) => c.toUpperCase()),
      [value],
    ]),
  );
  const headers = new Headers(signed());
  test.each<[string, ReceivedWebhook]>([
    ['as bytes', received],
    ['as text', { ...received, body: body.toString() }],
    ['as an array', { ...received, body: new Uint8Array(body) }],
    ['with headers of fetch', { ...received, headers: new Headers(signed()) }],
    [
      'with headers of another fetch',
      { ...received, headers: { get: headers.get.bind(headers) } as Headers },
    ],
    ['with headers in other letters and in lists', { ...received, headers: titled }],
    ['at the edge of the tolerance', { ...received, now: later(300) }],
    ['by a clock that is behind', { ...received, now: later(-300) }],
    ['much later when that is allowed', { ...received, now: later(9_000), toleranceSeconds: 10_000 }],
    ['whenever, without the time', { ...received, now: later(1e6), toleranceSeconds: null }],
  ])('%s', (_, given) => {
    expect(verifyWebhook(given)).toEqual(event);
  });
});

describe('anything else is refused', () => {
  const { 'x-service-signature': plain = '', 'x-service-signature-v2': timed = '' } = signed();
  const v2 = (value: string) => ({ ...received, headers: { 'x-service-signature-v2': value } });
  const other = Buffer.from('[]');
  test.each<[string, ReceivedWebhook, string]>([
    ['another body', { ...received, body: `${body} ` }, 'wrong_signature'],
    ['another secret', { ...received, secret: 'Secret' }, 'wrong_signature'],
    ['no signature', { ...received, headers: {} }, 'unsigned'],
    ['no signature with a time', { ...received, headers: { 'x-service-signature': plain } }, 'unsigned'],
    ['no signature at all', { ...received, headers: {}, toleranceSeconds: null }, 'unsigned'],
    ['a time that was not signed', v2(timed.replace(/t=\d+/, 't=1772600768')), 'wrong_signature'],
    ['a signature that is cut', v2(timed.slice(0, -1)), 'wrong_signature'],
    ['a signature that is empty', v2(''), 'wrong_signature'],
    ['a signature of another form', v2(plain), 'wrong_signature'],
    [
      'a wrong signature without a time',
      { ...received, headers: { 'x-service-signature': `${plain.slice(0, -1)}x` }, toleranceSeconds: null },
      'wrong_signature',
    ],
    ['what is too old', { ...received, now: later(301) }, 'too_old'],
    ['what is from the future', { ...received, now: later(-301) }, 'too_old'],
    ['what is signed and no event', { ...received, body: other, headers: signed(other) }, 'no_event'],
    ['a signature in capitals', v2(timed.toUpperCase()), 'wrong_signature'],
    ['two signatures in one', v2(`${timed}, ${timed}`), 'wrong_signature'],
    ['a tolerance that is no number', { ...received, toleranceSeconds: Number.NaN }, 'too_old'],
    [
      'a body that was parsed',
      { ...received, body: JSON.parse(body.toString()) },
      'TypeError: verifyWebhook needs the body as it came, as text or bytes',
    ],
    ['an empty secret', { ...received, secret: '' }, 'TypeError: verifyWebhook needs the secret'],
  ])('%s', (_, given, reason) => {
    expect(reasonOf(given)).toBe(reason);
  });
});
