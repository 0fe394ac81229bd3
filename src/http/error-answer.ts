import pg from 'pg';
import { AppError, type ErrorCode } from '../contract/error.ts';

/** Codes of Fastify's own refusals, in our words. */
const frameworkErrors: Record<string, [ErrorCode, string]> = {
  FST_ERR_CTP_BODY_TOO_LARGE: ['payload_too_large', 'The request body is too large.'],
  FST_ERR_CTP_INVALID_MEDIA_TYPE: ['unsupported_media_type', 'Send the body as application/json.'],
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: ['invalid_request', 'Content-Length does not match the body.'],
  FST_ERR_MAX_PARAM_LENGTH: ['not_found', 'Path not found.'],
  FST_ERR_BAD_URL: ['invalid_request', 'The path is not a valid URL path.'],
  FST_ERR_ASYNC_CONSTRAINT: ['invalid_request', 'The request could not be routed.'],
};

/** SQLSTATE classes that mean the database is away or overloaded, not that the request is wrong. */
const databaseAway = new Set(['08', '53', '57']);
const networkErrors = new Set(['ECONNREFUSED', 'ECONNRESET', 'ENOENT', 'ETIMEDOUT', 'EPIPE']);

/** Turns whatever was thrown into the error a caller sees. The only place where errors meet HTTP. */
export function toAppError(error: unknown): AppError {
  if (error instanceof AppError) return error;
  const code = codeOf(error);
  const framework = frameworkErrors[code];
  if (framework) return new AppError(framework[0], framework[1], null, error);
  // Before the next look at the code: a caller who goes away in the middle of a body is a broken connection too.
  const status = (error as { statusCode?: unknown })?.statusCode;
  if (typeof status === 'number' && status >= 400 && status < 500) {
    return new AppError('invalid_request', 'The request is malformed.', messageOf(error), error);
  }
  if (isDatabaseAway(error, code)) {
    return new AppError('unavailable', 'The database cannot be reached; try again shortly.', null, error);
  }
  return new AppError(
    'internal_error',
    'Something went wrong on our side; the request id finds it in the log.',
    null,
    error,
  );
}

function isDatabaseAway(error: unknown, code: string): boolean {
  if (error instanceof pg.DatabaseError) return databaseAway.has(code.slice(0, 2));
  const isDriverError =
    error instanceof Error &&
    /^(Connection terminated|timeout exceeded when trying to connect|Client has encountered a connection error)/.test(
      error.message,
    );
  return isDriverError || networkErrors.has(code);
}

function codeOf(error: unknown): string {
  const code = (error as { code?: unknown })?.code;
  return typeof code === 'string' ? code : '';
}

function messageOf(error: unknown): string | null {
  return error instanceof Error ? error.message : null;
}
