import type { FastifyReply, FastifyRequest } from 'fastify';
import { type AppError, errorCodeHeader } from '../contract/error.ts';
import type { PreviewTarget } from './address.ts';
import { RetryLaterError } from './retry-later.ts';
import { waitingPage, wantsWaitingPage } from './waiting-page.ts';

/** To where the target is without its token, and never to another host: two slashes would begin its name. */
export function redirect(reply: FastifyReply, status: 303 | 308, { prefix, path }: PreviewTarget): void {
  reply
    .code(status)
    .header('location', `${prefix}/${path.replace(/^[/\\]+/, '')}`)
    .send();
}

/** A program that does not run or a replica that sleeps is nothing that the log of errors is for. */
export function refuse(error: AppError, { raw: request }: FastifyRequest, reply: FastifyReply): void {
  reply.code(error.status).header(errorCodeHeader, error.code);
  if (error instanceof RetryLaterError) reply.header('retry-after', error.seconds);
  // Node would read the rest of a body to its end, however long it is, to keep the connection.
  if (!request.complete) reply.header('connection', 'close');
  if (wantsWaitingPage(error, { method: request.method, accept: request.headers.accept })) {
    const { html, headers } = waitingPage(error);
    reply.headers(headers).send(html);
    return;
  }
  reply
    .type('application/json; charset=utf-8')
    .send(JSON.stringify({ error: error.message, details: error.details }));
}
