import { z } from 'zod';

/** Every error the service can answer with: its stable code and the HTTP status that carries it. */
export const errorStatus = {
  invalid_request: 400,
  invalid_json: 400,
  global_environment_immutable: 400,
  unauthenticated: 401,
  forbidden: 403,
  not_found: 404,
  already_exists: 409,
  environment_in_use: 409,
  global_environment_undeletable: 409,
  repository_in_use: 409,
  credential_in_use: 409,
  invalid_state: 409,
  last_admin: 409,
  limit_reached: 409,
  idempotency_key_reused: 409,
  idempotency_key_in_progress: 409,
  request_timeout: 408,
  payload_too_large: 413,
  unsupported_media_type: 415,
  headers_too_large: 431,
  rate_limited: 429,
  internal_error: 500,
  hook_test_failed: 502,
  upstream_unavailable: 502,
  unavailable: 503,
} as const satisfies Record<string, number>;

export type ErrorCode = keyof typeof errorStatus;

/** The body of every answer that is not a success, on every path. */
export const errorBody = z
  .object({
    error: z.string().describe('What was refused and what to do about it.'),
    details: z.string().nullable().describe('More about the cause, such as the fields that are wrong.'),
  })
  .meta({ id: 'Error' });

export const errorCodeHeader = 'x-service-error-code';

/** A refusal with a sentence for the caller; `cause` is for the log only. */
export class AppError extends Error {
  readonly code: ErrorCode;
  readonly details: string | null;

  constructor(code: ErrorCode, sentence: string, details: string | null = null, cause?: unknown) {
    super(sentence, { cause });
    this.name = 'AppError';
    this.code = code;
    this.details = details;
  }

  get status(): number {
    return errorStatus[this.code];
  }
}

/** The one answer for what is absent and for what belongs to somebody else. */
export function notFound(what: string): AppError {
  return new AppError('not_found', `${what} not found.`);
}
