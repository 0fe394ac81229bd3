import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { newId } from '../src/lib/ids.ts';
import { createScriptedModel } from '../src/model/scripted/scripted-model.ts';
import { wallMs } from './replica-events.ts';

export type RecordingModel = AsyncDisposable & {
  url: string;
  /** When a prompt with these words has come as a whole, in milliseconds of the wall clock. */
  seen(words: string, timeoutMs: number): Promise<number>;
};

/** The scripted model behind a port of the loopback address, which takes down when it is asked what. */
export async function startRecordingModel(signal: AbortSignal): Promise<RecordingModel> {
  const model = createScriptedModel({ now: () => new Date(), newId });
  const awaited = new Map<string, (atMs: number) => void>();

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await buffer(request);
    const atMs = wallMs();
    for (const [words, resolve] of awaited) if (body.includes(words)) resolve(atMs);
    const gone = new AbortController();
    response.once('close', () => gone.abort());
    const { method = '', url: path = '', headers } = request;
    await model.answer({ method, path, headers, body }, response, gone.signal);
  }

  const server = createServer((request, response) => {
    serve(request, response).catch(() => response.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async seen(words, timeoutMs) {
      const { promise, resolve, reject } = Promise.withResolvers<number>();
      const limit = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]);
      const fail = () => reject(limit.reason);
      limit.addEventListener('abort', fail);
      awaited.set(words, resolve);
      try {
        return await promise;
      } finally {
        awaited.delete(words);
        limit.removeEventListener('abort', fail);
      }
    },
    async [Symbol.asyncDispose]() {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
}
