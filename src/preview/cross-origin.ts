import type { IncomingMessage } from 'node:http';

/**
 * A page under /p/ has an origin that nothing else has, so that a browser takes what it fetches from its own program for
 * a request of a stranger. The answers of a public preview are for anyone, and so for these pages too. No cookie goes
 * along.
 */
export const forEveryPage: Readonly<Record<string, string>> = {
  'access-control-allow-origin': '*',
  'access-control-expose-headers': '*',
};

const PREFLIGHT_SECONDS = 600;

/** Whether a browser asks what a page may send; the request itself comes afterwards. */
export function isPreflight({ method, headers }: Pick<IncomingMessage, 'method' | 'headers'>): boolean {
  return (
    method === 'OPTIONS' &&
    headers.origin !== undefined &&
    headers['access-control-request-method'] !== undefined
  );
}

/** Everything that is asked for: the program decides when the request comes. */
export function preflightAnswer({ headers }: Pick<IncomingMessage, 'headers'>): Record<string, string> {
  const wanted = headers['access-control-request-headers'];
  return {
    ...forEveryPage,
    'access-control-allow-methods': headers['access-control-request-method'] ?? '*',
    ...(wanted === undefined ? {} : { 'access-control-allow-headers': wanted }),
    'access-control-max-age': String(PREFLIGHT_SECONDS),
  };
}
