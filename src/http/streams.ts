import type { FastifyReply } from 'fastify';
import type { Logger } from 'pino';
import { type StreamEnd, type StreamLimits, type StreamSource, sendStream } from './send-stream.ts';

export type Streams = {
  /** Sends one stream to its end. What goes wrong before its first frame is thrown. */
  send(reply: FastifyReply, open: StreamSource['open']): Promise<void>;
  /** Waits until every stream has ended; they do so when the service stops. */
  ended(): Promise<void>;
};

const usualLimits: StreamLimits = { openWithinMs: 100, pingEveryMs: 15_000, takeWithinMs: 30_000 };

/** The streams of this process. */
export function createStreams(parts: {
  stopping: AbortSignal;
  log: Logger;
  limits?: Partial<StreamLimits> | undefined;
  onEnded: (reply: FastifyReply, end: StreamEnd) => void;
}): Streams {
  const { stopping, log } = parts;
  const limits = { ...usualLimits, ...parts.limits };
  const running = new Set<Promise<StreamEnd>>();
  return {
    async send(reply, open) {
      const sending = sendStream(reply, { open, stopping, limits });
      running.add(sending);
      try {
        const end = await sending;
        if (end.failure && end.failure.status >= 500)
          log.error({ reqId: reply.request.id, err: end.failure.cause ?? end.failure }, 'stream.failed');
        parts.onEnded(reply, end);
      } finally {
        running.delete(sending);
      }
    },
    async ended() {
      await Promise.allSettled(running);
    },
  };
}
