import type { Operation } from '../contract/operation.ts';
import { toApiError } from './api-error.ts';

export type ClientOptions = { baseUrl: string; token?: string; fetch?: typeof fetch };
export type CallOptions = { idempotencyKey?: string; signal?: AbortSignal };

/** A call of an operation that is known only at run time. */
export type LooseCall = {
  params?: Record<string, unknown>;
  query?: Record<string, unknown>;
  headers?: Record<string, unknown>;
  body?: unknown;
} & CallOptions;

/** Makes the request of an operation; an answer that is not a success is thrown. */
export async function request(
  options: ClientOptions,
  operation: Operation,
  call: LooseCall,
): Promise<Response> {
  const answer = await (options.fetch ?? fetch)(urlOf(options.baseUrl, operation, call), {
    method: operation.method,
    headers: headersOf(options, operation, call),
    body: call.body === undefined ? null : JSON.stringify(call.body),
    signal: call.signal ?? null,
  });
  if (!answer.ok) throw toApiError(answer, await answer.json().catch(() => null));
  return answer;
}

function headersOf(options: ClientOptions, operation: Operation, call: LooseCall): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(call.headers ?? {})) {
    if (value !== undefined) headers[name] = String(value);
  }
  // Errors are JSON whatever the answer is.
  headers.accept = operation.content ? `${operation.content}, application/json` : 'application/json';
  if (options.token) headers.authorization = `Bearer ${options.token}`;
  if (call.idempotencyKey) headers['idempotency-key'] = call.idempotencyKey;
  if (call.body !== undefined) headers['content-type'] = 'application/json';
  return headers;
}

function urlOf(baseUrl: string, operation: Operation, call: LooseCall): string {
  const path = operation.path.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
    const value = call.params?.[name];
    if (value === undefined) throw new TypeError(`the path parameter ${name} is missing`);
    return encodeURIComponent(String(value));
  });
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(call.query ?? {})) {
    if (value !== undefined) query.set(name, String(value));
  }
  return `${baseUrl.replace(/\/+$/, '')}${path}${query.size > 0 ? `?${query}` : ''}`;
}
