import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';

export type Frame = {
  event: string;
  data: string;
  /** When its bytes came, in milliseconds of the wall clock. */
  atMs: number;
};

export type ReplicaEvents = AsyncDisposable & {
  /** The next frame, of those that come from now on, that is looked for. */
  next(isWanted: (frame: Frame) => boolean, timeoutMs: number): Promise<Frame>;
};

/** The wall clock with fractions of a millisecond. */
export const wallMs = (): number => performance.timeOrigin + performance.now();

/**
 * One reader of a replica's events on a connection of its own. It is a bare one, so that a thousand of them take little
 * from the service that they measure.
 */
export async function openReplicaEvents(options: {
  baseUrl: string;
  apiKey: string;
  replicaId: string;
  signal: AbortSignal;
  onFrame?: (frame: Frame) => void;
}): Promise<ReplicaEvents> {
  const listeners = new Set<(frame: Frame) => void>(options.onFrame ? [options.onFrame] : []);
  const outgoing = request(`${options.baseUrl}/v1/replica/${options.replicaId}/events`, {
    agent: false,
    headers: { authorization: `Bearer ${options.apiKey}`, accept: 'text/event-stream' },
    signal: options.signal,
  });
  outgoing.end();
  const [response] = (await once(outgoing, 'response')) as [IncomingMessage];
  // A connection that breaks is missed by whoever waits for a frame of it.
  outgoing.on('error', () => {});
  response.on('error', () => {});
  if (response.statusCode !== 200) throw new Error(`the stream was answered with ${response.statusCode}`);
  splitFrames(response, (frame) => {
    for (const listener of [...listeners]) listener(frame);
  });

  return {
    async next(isWanted, timeoutMs) {
      const { promise, resolve, reject } = Promise.withResolvers<Frame>();
      const listener = (frame: Frame) => isWanted(frame) && resolve(frame);
      const limit = AbortSignal.any([options.signal, AbortSignal.timeout(timeoutMs)]);
      const fail = () => reject(limit.reason);
      limit.addEventListener('abort', fail);
      listeners.add(listener);
      try {
        return await promise;
      } finally {
        listeners.delete(listener);
        limit.removeEventListener('abort', fail);
      }
    },
    async [Symbol.asyncDispose]() {
      outgoing.destroy();
    },
  };
}

function splitFrames(response: IncomingMessage, onFrame: (frame: Frame) => void): void {
  let rest = '';
  response.setEncoding('utf8');
  response.on('data', (chunk: string) => {
    const atMs = wallMs();
    const blocks = (rest + chunk).split('\n\n');
    rest = blocks.pop() ?? '';
    for (const block of blocks) {
      const event = /^event: ?(.*)$/m.exec(block)?.[1];
      const data = /^data: ?(.*)$/m.exec(block)?.[1];
      if (event !== undefined && data !== undefined) onFrame({ event, data, atMs });
    }
  });
}
