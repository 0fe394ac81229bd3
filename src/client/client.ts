import { errorCodeHeader } from '../contract/error.ts';
import type { AnswerBody, Call, Operation } from '../contract/operation.ts';
import { type OperationName, type Operations, operations } from '../contract/operations.ts';

/** Leaves out of a call what the operation does not take. */
type Given<C> = { [K in keyof C as C[K] extends undefined ? never : K]: C[K] };
type CallOptions = { idempotencyKey?: string; signal?: AbortSignal };

/** The API as methods: one for each operation of the contract, typed by its schemas. */
export type Client = {
  [K in OperationName]: (
    call: Given<Call<Operations[K]>>,
    options?: CallOptions,
  ) => Promise<AnswerBody<Operations[K]>>;
};

/** An answer that is not a success. */
export class ApiError extends Error {
  override name = 'ApiError';
  readonly status: number;
  readonly code: string;
  readonly details: string | null;
  readonly requestId: string | null;

  constructor(answer: {
    status: number;
    code: string;
    message: string;
    details: string | null;
    requestId: string | null;
  }) {
    super(answer.message);
    this.status = answer.status;
    this.code = answer.code;
    this.details = answer.details;
    this.requestId = answer.requestId;
  }
}

type ClientOptions = { baseUrl: string; token?: string; fetch?: typeof fetch };

export function createClient(options: ClientOptions): Client {
  const methods = Object.entries(operations).map(([name, operation]) => [
    name,
    (call: LooseCall, callOptions?: CallOptions) => send(options, operation, { ...call, ...callOptions }),
  ]);
  return Object.fromEntries(methods) as Client;
}

type LooseCall = {
  params?: Record<string, unknown>;
  query?: Record<string, unknown>;
  body?: unknown;
} & CallOptions;

/** Sends one operation; for callers that know it only by name, such as the command line. */
export async function send(options: ClientOptions, operation: Operation, call: LooseCall): Promise<unknown> {
  const headers: Record<string, string> = { accept: 'application/json' };
  if (options.token) headers.authorization = `Bearer ${options.token}`;
  if (call.idempotencyKey) headers['idempotency-key'] = call.idempotencyKey;
  if (call.body !== undefined) headers['content-type'] = 'application/json';
  const answer = await (options.fetch ?? fetch)(urlOf(options.baseUrl, operation, call), {
    method: operation.method,
    headers,
    body: call.body === undefined ? null : JSON.stringify(call.body),
    signal: call.signal ?? null,
  });
  const body: unknown = await answer.json().catch(() => null);
  if (!answer.ok) throw toApiError(answer, body);
  return body;
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

export function toApiError(answer: Response, body: unknown): ApiError {
  const { error, details } = (body ?? {}) as { error?: unknown; details?: unknown };
  return new ApiError({
    status: answer.status,
    code: answer.headers.get(errorCodeHeader) ?? 'unknown',
    message: typeof error === 'string' ? error : `The service answered ${answer.status} without a reason.`,
    details: typeof details === 'string' ? details : null,
    requestId: answer.headers.get('x-request-id'),
  });
}
