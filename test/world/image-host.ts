import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A host of images on the loopback address. What is asked for decides what it does. */
export type ImageHost = {
  url(path: string): string;
  /** The path of every request so far. */
  requests: string[];
  /** The answers that have begun and not ended. */
  open: Set<ServerResponse>;
  close(): Promise<void>;
};

/** The smallest things that begin like images. */
export const images = {
  'image/png': Buffer.from('\x89PNG\r\n\x1a\n\0\0\0\rIHDR', 'latin1'),
  'image/jpeg': Buffer.from('\xff\xd8\xff\xe0\0\x10JFIF', 'latin1'),
  'image/gif': Buffer.from('GIF89a\x01\0', 'latin1'),
  'image/webp': Buffer.from('RIFF\n\0\0\0WEBPVP8 ', 'latin1'),
} as const;

export async function startImageHost(): Promise<ImageHost> {
  const requests: string[] = [];
  const open = new Set<ServerResponse>();

  /** `/png`, `/large/9000000`, `/redirect/3/png`, `/to?…`, `/status/404`, `/text`, `/silent`, `/half`. */
  function serve(response: ServerResponse, path: string): void {
    const [, what = '', first = '', ...rest] = path.split('/');
    const image = images[`image/${what}` as keyof typeof images];
    // It calls everything the same: whoever asks has to look for himself.
    const type = { 'content-type': 'application/octet-stream' };
    if (image) return void response.writeHead(200, type).end(image);
    if (what === 'large') {
      const padding = Buffer.alloc(Number(first) - images['image/png'].length);
      return void response.writeHead(200, type).end(Buffer.concat([images['image/png'], padding]));
    }
    if (what === 'redirect') {
      const left = Number(first) - 1;
      const next = left === 0 ? `/${rest.join('/')}` : `/redirect/${left}/${rest.join('/')}`;
      return void response.writeHead(302, { location: next }).end('there');
    }
    if (what.startsWith('to?')) return void response.writeHead(301, { location: path.slice(4) }).end();
    if (what === 'status') return void response.writeHead(Number(first)).end();
    if (what === 'text') return void response.writeHead(200, { 'content-type': 'image/png' }).end('hello');
    if (what === 'half') return void response.writeHead(200, type).write(images['image/png']);
    if (what === 'silent') return;
    response.writeHead(404).end();
  }

  const server = createServer((request, response) => {
    requests.push(request.url ?? '');
    open.add(response);
    response.on('close', () => open.delete(response));
    serve(response, request.url ?? '');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url: (path) => `${base}${path}`,
    requests,
    open,
    async close() {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
}
