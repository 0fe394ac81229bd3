import type { ServerResponse } from 'node:http';
import type { ModelApi } from '../model/api.ts';
import { discardModelBody } from './model-body.ts';

/** A refusal that the agent understands, because it looks like one of its provider. */
export class ModelRefusal extends Error {
  override name = 'ModelRefusal';
  readonly status: number;

  constructor(status: number, sentence: string, options?: ErrorOptions) {
    super(sentence, options);
    this.status = status;
  }
}

export async function answerModelRefusal(
  response: ServerResponse,
  api: ModelApi,
  { status, message }: ModelRefusal,
): Promise<void> {
  // An answer that has begun can only be broken off.
  if (response.headersSent) return void response.destroy();
  // What is too large, or comes too slowly, is not worth the wait.
  if (status !== 413) await discardModelBody(response.req).catch(() => {});
  if (response.destroyed) return;
  const body = JSON.stringify(api.refusal(status, message));
  const ending = response.req.complete ? {} : { connection: 'close' };
  response.writeHead(status, { 'content-type': 'application/json', ...ending }).end(body);
}
