import { expect, test } from 'vitest';
import { deliveryHeaders } from '../contract/webhook.ts';
import { webhookHeaders } from './signature.ts';

const sent = {
  deliveryId: 'd-1',
  event: { id: 'e-1', type: 'replica.ready' },
  replicaId: 'r-1',
  body: Buffer.from('{"name":"é"}'),
  at: new Date('2026-03-04T05:06:07.890Z'),
} as const;
const plain = {
  'content-type': 'application/json',
  'user-agent': 'replica-service',
  'x-service-event': 'replica.ready',
  'x-service-event-id': 'e-1',
  'x-service-delivery': 'd-1',
  'x-service-replica-id': 'r-1',
  'x-service-timestamp': '1772600767',
};

test('without a secret nothing is signed', () => {
  expect(webhookHeaders({ ...sent, secret: null })).toStrictEqual(plain);
});

test('with a secret the bytes are signed, and once more together with the time', () => {
  // From `openssl dgst -sha256 -hmac secret` over the same bytes.
  expect(webhookHeaders({ ...sent, secret: 'secret' })).toStrictEqual({
    ...plain,
    'x-service-signature': 'sha256=1cd8d3d00e14a4c72c499995dc07a1796b99a1a9005759c3f723d51cba9ff1e9',
    'x-service-signature-v2':
      't=1772600767,v1=5cbfbf918578ad68685ff8c693e1e6caca986f4f84a3d26167b43a9ccf47cf25',
  });
});

test('the headers are those that the contract describes', () => {
  const own = Object.keys(webhookHeaders({ ...sent, secret: 'secret' })).filter((name) =>
    name.startsWith('x-'),
  );
  expect(own.sort()).toEqual(
    Object.keys(deliveryHeaders)
      .map((name) => name.toLowerCase())
      .sort(),
  );
});
