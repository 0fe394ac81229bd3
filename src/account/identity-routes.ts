import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { AppError, type ErrorCode, errorCodeHeader, errorStatus } from '../contract/error.ts';
import type { Operation } from '../contract/operation.ts';
import type { RouteParts } from '../http/route.ts';
import { registerDevicePage } from './device-page.ts';
import type { Identity } from './identity.ts';
import {
  clientAddressHeader,
  type IdentityEndpoint,
  identityEndpoints,
  identityPath,
} from './identity-endpoints.ts';

type Parts = { identity: Identity } & Pick<RouteParts, 'admit'>;

const BODY_LIMIT_BYTES = 16 * 1024;
const MAX_USER_AGENT = 500;

/** What better-auth looks at; nothing else of a request reaches it. */
const passedHeaders = ['authorization', 'cookie', 'origin', 'referer'];
/** A browser sends all of these. Node's fetch sends one, and would be taken for a browser that hides its origin. */
const browserHeaders = ['sec-fetch-site', 'sec-fetch-mode', 'sec-fetch-dest'];

/** Puts the allowed paths of better-auth under /v1/auth, and the page of the device login at /device. */
export function registerIdentityRoutes(app: FastifyInstance, parts: Parts): void {
  for (const endpoint of identityEndpoints) registerEndpoint(app, parts, endpoint);
  registerDevicePage(app, parts);
}

function registerEndpoint(
  app: FastifyInstance,
  { identity, admit }: Parts,
  endpoint: IdentityEndpoint,
): void {
  const operation = toOperation(endpoint);
  app.route({
    method: endpoint.method,
    url: operation.path,
    bodyLimit: BODY_LIMIT_BYTES,
    config: { operation: `auth${endpoint.path}` },
    onRequest: (request, reply) => admit(operation, request, reply),
    handler: async (request, reply) => {
      const forwarded = toWebRequest(endpoint, request, identity.baseUrl);
      return sendAnswer(reply, await identity.handle(forwarded));
    },
  });
}

/** Anyone may call: better-auth looks at the session itself. Requests are counted by address. */
function toOperation({ method, path }: IdentityEndpoint): Operation {
  return {
    method,
    path: `${identityPath}${path}`,
    tag: 'Login',
    summary: path,
    access: 'anyone',
    answers: {},
  };
}

function toWebRequest(endpoint: IdentityEndpoint, request: FastifyRequest, baseUrl: string): Request {
  const url = new URL(`${identityPath}${endpoint.path}`, new URL(baseUrl).origin);
  const query = parse(endpoint.query, request.query, 'query');
  for (const [name, value] of Object.entries(query)) url.searchParams.set(name, String(value));
  const headers = new Headers({ [clientAddressHeader]: request.ip });
  const isBrowser = browserHeaders.every((name) => name in request.headers);
  for (const name of isBrowser ? [...passedHeaders, ...browserHeaders] : passedHeaders) {
    const value = request.headers[name];
    if (typeof value === 'string') headers.set(name, value);
  }
  headers.set('user-agent', (request.headers['user-agent'] ?? '').slice(0, MAX_USER_AGENT));
  if (endpoint.method === 'GET') return new Request(url, { headers });
  headers.set('content-type', 'application/json');
  const body = JSON.stringify(parse(endpoint.body, request.body, 'body'));
  return new Request(url, { method: endpoint.method, headers, body });
}

function parse(schema: IdentityEndpoint['body'], value: unknown, part: string): Record<string, unknown> {
  if (!schema) return {};
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const problems = parsed.error.issues.map((issue) => `${issue.path.join('.') || part}: ${issue.message}`);
  throw new AppError(
    'invalid_request',
    `The request ${part} is not valid: ${problems[0]}.`,
    problems.join('; '),
  );
}

async function sendAnswer(reply: FastifyReply, answer: Response): Promise<FastifyReply> {
  const text = await answer.text();
  const cookies = answer.headers.getSetCookie();
  if (cookies.length > 0) reply.header('set-cookie', cookies);
  reply.header('cache-control', 'no-store');
  if (answer.ok) return reply.code(answer.status).type('application/json; charset=utf-8').send(text);
  if (answer.status >= 500) throw new Error(`better-auth answered ${answer.status}: ${text}`);
  const retryAfter = answer.headers.get('x-retry-after');
  return sendRefusal(reply, { status: answer.status, body: readJson(text), retryAfter });
}

/** better-auth's refusals have two shapes: OAuth's `error` and `error_description`, and its own `message`. */
function sendRefusal(
  reply: FastifyReply,
  refusal: { status: number; body: unknown; retryAfter: string | null },
): FastifyReply {
  const { error, error_description, message } = (refusal.body ?? {}) as Record<string, unknown>;
  if (refusal.retryAfter) reply.header('retry-after', refusal.retryAfter);
  const code = codeOfStatus[refusal.status] ?? 'invalid_request';
  const isOAuth = typeof error === 'string' && /^[a-z_]+$/.test(error);
  return reply
    .code(errorStatus[code])
    .header(errorCodeHeader, isOAuth ? error : code)
    .type('application/json; charset=utf-8')
    .send(
      isOAuth
        ? { error, details: typeof error_description === 'string' ? error_description : null }
        : {
            error: typeof message === 'string' && message ? message : 'The request was refused.',
            details: null,
          },
    );
}

const codeOfStatus: Partial<Record<number, ErrorCode>> = {
  400: 'invalid_request',
  401: 'unauthenticated',
  403: 'forbidden',
  404: 'not_found',
  429: 'rate_limited',
};

function readJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
