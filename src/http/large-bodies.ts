import type { FastifyInstance, FastifyRequest } from 'fastify';
import { AppError } from '../contract/error.ts';

/** What is shorter is not counted. */
const SMALL_BYTES = 262_144;
/** Together they need no more memory than a small machine has. */
const MAX_AT_ONCE = 8;

/**
 * Lets only so many large bodies be on their way at the same time. Operations that take bytes as they come know who sends
 * them only when all are there, so that anybody could fill the memory with them.
 */
export function limitLargeBodies(app: FastifyInstance): void {
  let onTheWay = 0;
  app.addHook('onRequest', (request, reply, done) => {
    if (largestSizeOf(request) <= SMALL_BYTES) return done();
    if (onTheWay === MAX_AT_ONCE)
      return done(new AppError('rate_limited', 'Too many large requests are on their way; try again later.'));
    onTheWay++;
    reply.raw.once('close', () => {
      onTheWay--;
    });
    done();
  });
}

/** Who does not say how long the body is may send as much as the operation takes. */
function largestSizeOf({ headers, routeOptions }: FastifyRequest): number {
  const { bodyLimit = SMALL_BYTES } = routeOptions;
  const length = Number(headers['content-length'] ?? Number.NaN);
  return Number.isNaN(length) ? bodyLimit : Math.min(length, bodyLimit);
}
