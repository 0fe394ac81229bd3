import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { request } from 'undici';
import { afterEach, describe, expect, test } from 'vitest';
import {
  guardedDispatcher,
  isPublicAddress,
  PrivateTargetError,
  resolveTarget,
  UnresolvedTargetError,
} from './address-guard.ts';

const publicAddresses = [
  '8.8.8.8',
  '1.1.1.1',
  '172.15.255.255',
  '172.32.0.1',
  '100.63.255.255',
  '100.128.0.1',
  '169.253.1.1',
  '2606:4700:4700::1111',
  '2a00:1450:4001:81b::200e',
  '::ffff:8.8.8.8',
  '64:ff9b::8.8.8.8',
  '2002:808:808::1',
];

const privateAddresses = [
  '0.0.0.0',
  '0.1.2.3',
  '10.0.0.1',
  '127.0.0.1',
  '127.255.255.254',
  '169.254.169.254',
  '172.16.0.1',
  '172.31.255.255',
  '192.168.1.1',
  '100.64.0.1',
  '192.0.0.8',
  '192.0.2.1',
  '192.88.99.1',
  '198.18.0.1',
  '198.51.100.7',
  '203.0.113.9',
  '224.0.0.1',
  '240.0.0.1',
  '255.255.255.255',
  '::',
  '::1',
  '::127.0.0.1',
  '::8.8.8.8',
  '::ffff:127.0.0.1',
  '::ffff:7f00:1',
  '::ffff:10.1.2.3',
  '::ffff:0:8.8.8.8',
  '64:ff9b::127.0.0.1',
  '64:ff9b::a9fe:a9fe',
  '64:ff9b:1::8.8.8.8',
  '2002:7f00:1::1',
  '2002:a00:1::',
  '2002:c0a8:101::1',
  '2001:0:4136:e378:8000:63bf:3fff:fdd2',
  '2001:2::1',
  '2001:db8::1',
  '2001:20::1',
  '3fff::1',
  '100::1',
  '5f00::1',
  'fc00::1',
  'fd12:3456::1',
  'fe80::1',
  'fe80::1%eth0',
  'fec0::1',
  'ff02::1',
  '4000::1',
];

describe('isPublicAddress', () => {
  test.each(publicAddresses)('%s is public', (address) => expect(isPublicAddress(address)).toBe(true));
  test.each(privateAddresses)('%s is not public', (address) => expect(isPublicAddress(address)).toBe(false));
  test.each([
    '',
    'example.com',
    '0x7f.1',
    '127.1',
    '2130706433',
    '[::1]',
    '2606::1]/',
    '2606::1/64',
    '1.2.3.4.5',
    '256.1.1.1',
  ])('"%s" is no address in its usual form, so it is not public', (text) =>
    expect(isPublicAddress(text)).toBe(false),
  );
});

describe('resolveTarget', () => {
  const never = async (): Promise<string[]> => {
    throw new Error('A literal address asks no resolver.');
  };

  test.each([
    '127.0.0.1',
    '127.1',
    '127.0.0.1.',
    '0x7f.1',
    '0x7f000001',
    '0177.0.0.1',
    '2130706433',
    '１２７.0.0.1',
    '0',
    '169.254.169.254',
    '0xa9fea9fe',
    '::1',
    '[::1]',
    '[::ffff:127.0.0.1]',
    '::ffff:7f00:1',
    'fe80::1%eth0',
  ])('the literal %s is refused', async (host) => {
    await expect(resolveTarget(host, { allowPrivateTargets: false, lookup: never })).rejects.toThrow(
      PrivateTargetError,
    );
  });

  test('the refusal names the host', async () => {
    const lookup = async () => ['10.0.0.1'];
    const refusal = resolveTarget('Inside.Example.', { allowPrivateTargets: false, lookup });
    await expect(refusal).rejects.toThrow(/inside\.example is not a public address/);
  });

  test.each([
    ['8.8.8.8', '8.8.8.8'],
    ['0x8.8.8.8', '8.8.8.8'],
    ['[2606:4700::1111]', '2606:4700::1111'],
  ])('the literal %s is passed on as %s', async (host, address) => {
    expect(await resolveTarget(host, { allowPrivateTargets: false, lookup: never })).toEqual([address]);
  });

  test('one private address among public ones refuses the host', async () => {
    const lookup = async () => ['8.8.8.8', '127.0.0.1'];
    await expect(resolveTarget('mixed.example', { allowPrivateTargets: false, lookup })).rejects.toThrow(
      PrivateTargetError,
    );
  });

  test('every public address is returned once', async () => {
    const lookup = async () => ['8.8.8.8', '2606:4700::1111', '8.8.8.8'];
    expect(await resolveTarget('two.example', { allowPrivateTargets: false, lookup })).toEqual([
      '8.8.8.8',
      '2606:4700::1111',
    ]);
  });

  test('a private address is returned when the operator allows it', async () => {
    expect(await resolveTarget('127.1', { allowPrivateTargets: true, lookup: never })).toEqual(['127.0.0.1']);
  });

  test.each([
    '',
    '.',
    'a b',
    'a/b',
    'user@host',
    'host:80',
    'host?x',
    'host#x',
    'a\\b',
    'a\nb',
    '1.2.3.4.5',
    '[::1',
    '%31',
    'a'.repeat(254),
  ])('"%s" is not a host name', async (host) => {
    await expect(resolveTarget(host, { allowPrivateTargets: true, lookup: never })).rejects.toThrow(
      UnresolvedTargetError,
    );
  });

  test('a name without an address is unresolved', async () => {
    const lookup = async () => [];
    await expect(resolveTarget('gone.example', { allowPrivateTargets: false, lookup })).rejects.toThrow(
      /No address is known/,
    );
  });

  test('an abort ends the wait for a resolver that never answers', async () => {
    const controller = new AbortController();
    const waiting = resolveTarget('slow.example', {
      allowPrivateTargets: false,
      lookup: () => new Promise(() => {}),
      signal: controller.signal,
    });
    controller.abort(new Error('enough'));
    await expect(waiting).rejects.toThrow('enough');
  });
});

describe('guardedDispatcher', () => {
  const closers: (() => Promise<unknown>)[] = [];
  afterEach(async () => {
    for (const close of closers.splice(0).reverse()) await close();
  });

  async function serve(): Promise<{ port: number; requests: string[] }> {
    const requests: string[] = [];
    const server: Server = createServer((incoming, answer) => {
      requests.push(`${incoming.headers.host}${incoming.url}`);
      if (incoming.url === '/away') answer.writeHead(302, { location: '/landed' });
      answer.end('here');
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    closers.push(() => new Promise((resolve) => server.close(resolve)));
    return { port: (server.address() as AddressInfo).port, requests };
  }

  function dispatcher(options: Parameters<typeof guardedDispatcher>[0]) {
    const made = guardedDispatcher(options);
    closers.push(() => made.destroy());
    return made;
  }

  test.each(['127.0.0.1', '0x7f.1', '[::ffff:127.0.0.1]', 'localhost', 'rebound.example'])(
    'http://%s is refused before a connection is made',
    async (host) => {
      const { port, requests } = await serve();
      const guarded = dispatcher({ allowPrivateTargets: false, lookup: async () => ['127.0.0.1'] });
      await expect(request(`http://${host}:${port}/`, { dispatcher: guarded })).rejects.toThrow(
        PrivateTargetError,
      );
      expect(requests).toEqual([]);
    },
  );

  test('the connection goes to the address that was checked, under the name that was asked for', async () => {
    const { port, requests } = await serve();
    const asked: string[] = [];
    const lookup = async (host: string) => {
      asked.push(host);
      return ['127.0.0.1'];
    };
    const answer = await request(`http://named.example:${port}/x`, {
      dispatcher: dispatcher({ allowPrivateTargets: true, lookup }),
    });
    expect(await answer.body.text()).toBe('here');
    expect(asked).toEqual(['named.example']);
    expect(requests).toEqual([`named.example:${port}/x`]);
  });

  test('a redirect is handed to the caller, not followed', async () => {
    const { port, requests } = await serve();
    const answer = await request(`http://127.0.0.1:${port}/away`, {
      dispatcher: dispatcher({ allowPrivateTargets: true }),
    });
    await answer.body.dump();
    expect(answer.statusCode).toBe(302);
    expect(requests).toHaveLength(1);
  });
});
