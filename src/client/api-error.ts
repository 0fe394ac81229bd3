import { errorCodeHeader, errorStatus } from '../contract/error.ts';

/** An answer that is not a success, or a stream that has failed. */
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

/** What the last event of a stream says that has failed; the status is the one an answer would have had. */
export function toStreamError(answer: Response, data: unknown): ApiError {
  const { code, message } = (data ?? {}) as { code?: unknown; message?: unknown };
  const statuses: Record<string, number> = errorStatus;
  return new ApiError({
    status: (typeof code === 'string' && statuses[code]) || errorStatus.internal_error,
    code: typeof code === 'string' ? code : 'unknown',
    message: typeof message === 'string' ? message : 'The stream has failed without a reason.',
    details: null,
    requestId: answer.headers.get('x-request-id'),
  });
}
