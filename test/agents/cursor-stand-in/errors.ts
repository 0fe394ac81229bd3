/** An error as the SDK's are told apart: by name, and by code or status where there is one. */
export class SdkError extends Error {
  readonly code?: string;
  readonly status?: number;

  constructor(name: string, message: string, details: { code?: string; status?: number } = {}) {
    super(message);
    this.name = name;
    Object.assign(this, details);
  }
}

/** What a run says of itself when the model did not answer. */
export function runError(status: number, message: string): { message: string; code: string } {
  return { message, code: codes[status] ?? 'unavailable' };
}

const codes: Record<number, string> = {
  400: 'invalid_argument',
  401: 'unauthenticated',
  402: 'PRO_USER_USAGE_LIMIT',
  403: 'permission_denied',
  404: 'not_found',
  429: 'resource_exhausted',
};
