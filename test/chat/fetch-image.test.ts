import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { createFetchImages, ImageError } from '../../src/chat/fetch-image.ts';
import { type ImageHost, images, startImageHost } from '../world/image-host.ts';
import { until } from '../world/world.ts';

let host: ImageHost;
beforeAll(async () => {
  host = await startImageHost();
});
beforeEach(() => {
  host.requests.length = 0;
});
afterAll(() => host?.close());

const never = new AbortController().signal;
const fetchImages = createFetchImages({ allowPrivateTargets: true });
const load = (...paths: string[]) => fetchImages(paths.map(host.url), never);
const png = { mediaType: 'image/png', dataBase64: images['image/png'].toString('base64') };

describe('images that are named by their address', () => {
  test('come in their order, with the type they have, whatever the host calls them', async () => {
    const loaded = await load('/webp', '/png', '/gif', '/jpeg');
    expect(loaded.map(({ mediaType }) => mediaType)).toEqual([
      'image/webp',
      'image/png',
      'image/gif',
      'image/jpeg',
    ]);
    for (const { mediaType, dataBase64 } of loaded)
      expect(dataBase64).toBe(images[mediaType].toString('base64'));
  });

  test('of which there are none need nobody', async () => {
    expect(await fetchImages([], never)).toEqual([]);
  });

  test('may lead elsewhere three times', async () => {
    expect(await load('/redirect/3/png')).toEqual([png]);
    expect(host.requests).toHaveLength(4);
  });

  test('may be as large as the limit', async () => {
    const [image] = await load('/large/10000000');
    expect(Buffer.from(image?.dataBase64 ?? '', 'base64')).toHaveLength(10_000_000);
  });

  test.each([
    ['/redirect/4/png', 'it leads elsewhere too often'],
    ['/to?file:///etc/passwd', 'it leads elsewhere too often'],
    ['/to?ftp://127.0.0.1/png', 'it leads elsewhere too often'],
    ['/large/10000001', 'it is larger than 10 MB'],
    ['/text', 'it is no PNG, JPEG, GIF or WebP image'],
    ['/status/404', 'its host answered 404'],
    ['/status/500', 'its host answered 500'],
    ['/status/304', 'its host answered 304'],
    ['/status/204', 'its host answered 204'],
  ])('are refused with a sentence: %s', async (path, reason) => {
    await expect(load(path)).rejects.toThrow(
      new ImageError(`The image ${host.url(path)} could not be fetched: ${reason}.`),
    );
  });

  test('are not too large together', async () => {
    const paths = ['/large/7000000', '/large/7000000', '/large/7000000'];
    await expect(load(...paths)).rejects.toThrow('the images are larger than 20 MB together');
  });

  test('of a host that is not there are refused with a sentence', async () => {
    await expect(fetchImages(['http://127.0.0.1:1/a.png'], never)).rejects.toThrow(
      'The image http://127.0.0.1:1/a.png could not be fetched: its host could not be reached.',
    );
  });

  test.each([
    'http://127.0.0.1:1/a',
    'http://[::1]/a',
    'http://169.254.169.254/a',
    'http://0x7f.1/a',
    'http://localhost/a',
  ])('of a private address are not asked for unless the operator allows it: %s', async (url) => {
    const guarded = createFetchImages({ allowPrivateTargets: false });
    await expect(guarded([url], never)).rejects.toThrow(
      `The image ${url} could not be fetched: its host is not public.`,
    );
  });

  test.each(['/silent', '/half'])('of a host that is too slow are given up: %s', async (path) => {
    const impatient = createFetchImages({ allowPrivateTargets: true, limitMs: 200 });
    await expect(impatient([host.url(path)], never)).rejects.toThrow('it took longer than 0.2 seconds');
    await until(() => host.open.size === 0);
  });

  test('are given up together when one of them cannot be had', async () => {
    await expect(load('/silent', '/half', '/status/404')).rejects.toThrow('its host answered 404');
    await until(() => host.open.size === 0);
  });

  test('are given up when whoever wants them does not want them any more', async () => {
    const stopping = new AbortController();
    const loading = fetchImages([host.url('/half')], stopping.signal);
    await until(() => host.open.size === 1);
    const reason = new Error('the service stops');
    stopping.abort(reason);
    await expect(loading).rejects.toBe(reason);
    await until(() => host.open.size === 0);
  });
});
