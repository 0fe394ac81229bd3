/*
 * Sends server-sent events to one caller, for as long as it takes.
 *
 * - Before the first frame nothing is sent, so what goes wrong until then is an ordinary error answer. A stream that
 *   stays silent is opened after a moment all the same.
 * - The next frame is asked for when the caller has taken the last one. What waits for a slow caller is therefore one
 *   frame, and a caller who takes nothing for too long is cut.
 * - A stream that has come to its end, also by a failure, ends as HTTP does it. Every other end is a broken connection,
 *   by which a reader knows that there may be more and resumes.
 * - The signal is aborted at every end, and the producer gets a moment to let go of what it holds.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { FastifyReply } from 'fastify';
import { AppError } from '../contract/error.ts';
import { toAppError } from './error-answer.ts';
import { createPacedWriter } from './paced-writer.ts';
import { encodeFrame, type SseFrame } from './sse.ts';

/** How a stream ended: by itself, the caller left, read too slowly, the service stops, or the producer failed. */
type Ending = 'done' | 'gone' | 'slow' | 'stopped' | 'failed';

export type StreamEnd = { ending: Ending; frames: number; failure: AppError | null };

export type StreamLimits = {
  /** A stream without a frame by then is opened with a comment. */
  openWithinMs: number;
  pingEveryMs: number;
  /** A caller who takes nothing for this long is cut. */
  takeWithinMs: number;
};

export type StreamSource = {
  open: (signal: AbortSignal) => AsyncIterable<SseFrame>;
  stopping: AbortSignal;
  limits: StreamLimits;
};

const headers = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-cache, no-transform',
  'x-accel-buffering': 'no',
};

const LET_GO_WITHIN_MS = 1_000;

/** Sends frames until the stream has ended; throws what goes wrong before the first one. */
export async function sendStream(reply: FastifyReply, source: StreamSource): Promise<StreamEnd> {
  const life = watchLife(reply, source.stopping);
  try {
    return await produce(reply, source, life);
  } finally {
    life.end('done');
  }
}

async function produce(reply: FastifyReply, { open, limits }: StreamSource, life: Life): Promise<StreamEnd> {
  const producer = open(life.over)[Symbol.asyncIterator]();
  try {
    const first = nextFrame(producer, life.over);
    const isSilent = await isLate(first, limits.openWithinMs);
    if (life.ending() === 'stopped') throw reasons.stopped();
    return await sendFrames(reply, { first, isSilent, producer, life, limits });
  } finally {
    await letGo(producer);
  }
}

type Sending = {
  first: ReturnType<typeof nextFrame>;
  isSilent: boolean;
  producer: AsyncIterator<SseFrame>;
  life: Life;
  limits: StreamLimits;
};

async function sendFrames(reply: FastifyReply, sending: Sending): Promise<StreamEnd> {
  const { producer, life, limits } = sending;
  sendHead(reply, sending.isSilent);
  const onSlow = () => life.end('slow');
  const writer = createPacedWriter(reply.raw, { ...limits, over: life.over, onSlow });
  let frames = 0;
  let failure: AppError | null = null;
  try {
    for (let step = await sending.first; step && !step.done; step = await nextFrame(producer, life.over)) {
      await writer.write(encodeFrame(step.value));
      frames += 1;
    }
    life.end('done');
  } catch (error) {
    failure = toAppError(error);
    await writer.write(
      encodeFrame({ event: 'error', data: { code: failure.code, message: failure.message } }),
    );
    life.end('failed');
  }
  writer.close();
  const ending = life.ending() ?? 'done';
  if (ending === 'done' || ending === 'failed') reply.raw.end();
  else reply.raw.destroy();
  return { ending, frames, failure: ending === 'failed' ? failure : null };
}

function sendHead(reply: FastifyReply, isSilent: boolean): void {
  reply.hijack();
  reply.request.isStreaming = true;
  reply.raw.writeHead(200, { ...reply.getHeaders(), ...headers } as Record<string, string | number>);
  reply.raw.flushHeaders();
  if (isSilent) reply.raw.write(': open\n\n');
}

type Life = ReturnType<typeof watchLife>;

const reasons: Record<Ending, () => AppError> = {
  done: () => new AppError('unavailable', 'The stream has ended.'),
  gone: () => new AppError('unavailable', 'The caller is gone.'),
  slow: () => new AppError('unavailable', 'The caller reads too slowly.'),
  stopped: () => new AppError('unavailable', 'The service is stopping; try again shortly.'),
  failed: () => new AppError('unavailable', 'The stream has failed.'),
};

/** The first reason to end a stream counts, and ends whatever is waited for. */
function watchLife({ raw }: FastifyReply, stopping: AbortSignal) {
  const over = new AbortController();
  let ending: Ending | null = null;
  const noticeGone = () => end('gone');
  const noticeStop = () => end('stopped');
  function end(how: Ending): void {
    if (ending) return;
    ending = how;
    raw.off('close', noticeGone);
    stopping.removeEventListener('abort', noticeStop);
    over.abort(reasons[how]());
  }
  raw.once('close', noticeGone);
  stopping.addEventListener('abort', noticeStop);
  if (raw.closed) noticeGone();
  if (stopping.aborted) noticeStop();
  return { over: over.signal, end, ending: () => ending };
}

/** The next frame; null when the stream is over, whether or not its producer has noticed. */
async function nextFrame(
  producer: AsyncIterator<SseFrame>,
  over: AbortSignal,
): Promise<IteratorResult<SseFrame> | null> {
  const { promise, resolve, reject } = Promise.withResolvers<IteratorResult<SseFrame> | null>();
  const stop = () => resolve(null);
  if (over.aborted) stop();
  over.addEventListener('abort', stop);
  producer.next().then(resolve, reject);
  try {
    return await promise;
  } finally {
    over.removeEventListener('abort', stop);
  }
}

/** Whether the first frame is not there after this time. What went wrong until then is thrown. */
async function isLate(first: Promise<unknown>, withinMs: number): Promise<boolean> {
  const patience = new AbortController();
  try {
    const late = delay(withinMs, true, { signal: patience.signal }).catch(() => false);
    return await Promise.race([first.then(() => false), late]);
  } finally {
    patience.abort();
  }
}

/** Runs what the producer does at its end. One that hangs is left alone after a while. */
async function letGo(producer: AsyncIterator<SseFrame>): Promise<void> {
  const patience = new AbortController();
  const ended = Promise.resolve(producer.return?.()).catch(() => undefined);
  const late = delay(LET_GO_WITHIN_MS, undefined, { signal: patience.signal }).catch(() => undefined);
  await Promise.race([ended, late]);
  patience.abort();
}
