import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { newId } from '../../src/lib/ids.ts';
import { createScriptedModel } from '../../src/model/scripted/scripted-model.ts';

export type RecordedRequest = {
  method: string;
  /** With the query, if there is one. */
  path: string;
  headers: IncomingHttpHeaders;
  // biome-ignore lint/suspicious/noExplicitAny: a test asserts on the parts of a body it is about.
  body: any;
  /** Whether the caller has its answer, still waits for it, or will never have it as a whole. */
  outcome: 'open' | 'answered' | 'cut off';
};

/** The offline model behind a port of the loopback address, with everything that it was asked. */
export type ScriptedModelServer = {
  /** What agents take as the address of their model API: `/v1/messages` and the others are below it. */
  url: string;
  /** Every request so far, in the order in which they came. */
  requests(): RecordedRequest[];
  /** The first request of which this is true, which may have come already; an error when the time is over. */
  waitFor(predicate: (request: RecordedRequest) => boolean, limitMs?: number): Promise<RecordedRequest>;
  /** Breaks off what is still being answered. */
  close(): Promise<void>;
};

const WAIT_LIMIT_MS = 15_000;

export async function startScriptedModel(): Promise<ScriptedModelServer> {
  const model = createScriptedModel({ now: () => new Date(), newId });
  const recorded: RecordedRequest[] = [];
  const onChange = new Set<() => void>();

  const server = createServer((request, response) => {
    serve(request, response).catch(() => response.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests: () => [...recorded],
    waitFor,
    async close() {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await buffer(request);
    const { method = '', url: path = '', headers } = request;
    const record: RecordedRequest = { method, path, headers, body: parse(body), outcome: 'open' };
    const gone = new AbortController();
    response.once('close', () => {
      record.outcome = response.writableFinished ? 'answered' : 'cut off';
      gone.abort();
      announce();
    });
    recorded.push(record);
    announce();
    await model.answer({ method, path, headers, body }, response, gone.signal);
  }

  function waitFor(predicate: (request: RecordedRequest) => boolean, limitMs = WAIT_LIMIT_MS) {
    const { promise, resolve, reject } = Promise.withResolvers<RecordedRequest>();
    const late = setTimeout(() => {
      const seen = recorded.map(({ method, path, outcome }) => `${method} ${path} (${outcome})`).join(', ');
      reject(
        new Error(`the model was not asked so within ${limitMs} ms; it was asked: ${seen || 'nothing'}`),
      );
    }, limitMs);
    const look = () => {
      try {
        const found = recorded.find(predicate);
        if (found) resolve(found);
      } catch (error) {
        reject(error);
      }
    };
    onChange.add(look);
    look();
    return promise.finally(() => {
      clearTimeout(late);
      onChange.delete(look);
    });
  }

  function announce(): void {
    for (const look of onChange) look();
  }
}

/** A body that is no JSON is recorded as its text. */
function parse(body: Buffer): unknown {
  try {
    return body.length === 0 ? undefined : JSON.parse(body.toString());
  } catch {
    return body.toString();
  }
}
