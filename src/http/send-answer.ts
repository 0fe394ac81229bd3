import { Readable } from 'node:stream';
import type { FastifyReply } from 'fastify';
import type { Operation } from '../contract/operation.ts';
import type { Db } from '../db/database.ts';
import type { FrameStream, LooseAnswer } from './handler.ts';
import type { StoredAnswer } from './idempotency.ts';
import type { SseFrame } from './sse.ts';
import type { Streams } from './streams.ts';

type Parts = {
  db: Db;
  streams: Streams;
  inspectAnswer?: ((operation: Operation, answer: StoredAnswer) => void) | undefined;
};

/** Sends what a handler has answered, in the way of its operation: JSON, text or a stream. */
export async function sendAnswer(
  { db, streams, inspectAnswer }: Parts,
  { operation, answer, reply }: { operation: Operation; answer: LooseAnswer; reply: FastifyReply },
): Promise<unknown> {
  const { status, body, stream } = answer;
  if (operation.deprecatedSince)
    reply.header('deprecation', `@${Date.parse(operation.deprecatedSince) / 1000}`);
  const inspect = inspectAnswer && ((seen: unknown) => inspectAnswer(operation, { status, body: seen }));
  if (stream) return sendFrames({ db, streams }, { stream, reply, inspect });
  const isRead = body instanceof Readable;
  if (!isRead) inspect?.(body);
  if (operation.content === 'text/plain') reply.type('text/plain; charset=utf-8');
  return reply.code(status).send(body);
}

async function sendFrames(
  { db, streams }: Pick<Parts, 'db' | 'streams'>,
  sending: { stream: FrameStream; reply: FastifyReply; inspect: ((data: unknown) => void) | undefined },
): Promise<unknown> {
  const { stream, reply, inspect } = sending;
  if (reply.request.method === 'HEAD') {
    return reply.type('text/event-stream; charset=utf-8').send(Readable.from([]));
  }
  await streams.send(reply, (signal) => {
    const frames = stream(db, signal);
    return inspect ? inspected(frames, inspect) : frames;
  });
  return reply;
}

async function* inspected(
  frames: AsyncIterable<SseFrame>,
  inspect: (data: unknown) => void,
): AsyncIterable<SseFrame> {
  for await (const frame of frames) {
    if ('data' in frame) inspect(frame.data);
    yield frame;
  }
}
