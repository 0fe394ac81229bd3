import type { IncomingMessage } from 'node:http';
import { passedOn } from '../gateway/egress-forward.ts';
import type { PreviewTarget } from './address.ts';
import { cookieFromProgram, cookiesForProgram } from './cookies.ts';
import { forEveryPage } from './cross-origin.ts';

type Raw = Pick<IncomingMessage, 'rawHeaders' | 'headers'>;
type Pair = [name: string, value: string];

/** What callers say about themselves; the program gets what we know instead. */
const aboutCaller = /^(forwarded|x-forwarded-.*|x-real-ip)$/;
/** Ours; a program cannot speak for the service. */
const ofService = /^(x-service-.*|x-request-id|ratelimit-.*)$/;
/** What a program would say for the whole origin, which under /p/ is that of the service and not that of its pages. */
const ofOrigin = new Set([
  'alt-svc',
  'clear-site-data',
  'cross-origin-embedder-policy',
  'cross-origin-opener-policy',
  'cross-origin-resource-policy',
  'nel',
  'origin-agent-cluster',
  'report-to',
  'reporting-endpoints',
  'service-worker-allowed',
  'strict-transport-security',
]);
/** A page under /p/ gets an origin of its own, of which nothing else is, so that it can do nothing in the name of ours. */
const sandboxPolicy =
  'sandbox allow-downloads allow-forms allow-modals allow-pointer-lock allow-popups allow-scripts';

/** The headers of a request as the program behind a port gets them, names and values in turn. */
export function headersForProgram(
  request: Raw,
  passing: { target: PreviewTarget; address: string; scheme: string; dropsAuthorization: boolean },
): string[] {
  const { target, address, scheme } = passing;
  const kept = pairsOf(request).filter(([name]) => {
    if (name === 'cookie' || aboutCaller.test(name)) return false;
    return name !== 'authorization' || !passing.dropsAuthorization;
  });
  const cookies = cookiesForProgram(request.headers.cookie, target);
  return [
    // Development servers refuse host names that they do not know, and know this one.
    ['host', `localhost:${target.port}`],
    ...kept,
    ...(cookies === null ? [] : [['cookie', cookies]]),
    ['x-forwarded-for', address],
    ['x-forwarded-host', request.headers.host ?? ''],
    ['x-forwarded-proto', scheme],
    ...(target.prefix === '' ? [] : [['x-forwarded-prefix', target.prefix]]),
    // Without it a body of unknown length would be sent without bounds, and its end read as the next request.
    ...(request.headers['transfer-encoding'] === undefined ? [] : [['transfer-encoding', 'chunked']]),
  ].flat();
}

/** The headers of an answer as callers get them, names and values in turn. */
export function headersFromProgram(
  answer: Raw,
  { target, isPublic }: { target: PreviewTarget; isPublic: boolean },
): string[] {
  const isShared = target.form === 'path';
  const isForEveryPage = isShared && isPublic;
  const kept = pairsOf(answer).flatMap(([name, value]): Pair[] => {
    if (ofService.test(name) || (isShared && ofOrigin.has(name))) return [];
    // What only some may see is kept by nobody on the way, and asked for anew when a session has ended.
    if (name === 'cache-control' && !isPublic) return [];
    if (name.startsWith('access-control-') && isForEveryPage) return [];
    if (name === 'location') return [[name, locationFor(value, target)]];
    if (name !== 'set-cookie') return [[name, value]];
    const cookie = cookieFromProgram(value, target);
    return cookie === null ? [] : [[name, cookie]];
  });
  return [
    ...kept,
    ...(isPublic ? [] : [['cache-control', 'private, no-cache']]),
    ...(isShared ? [['content-security-policy', sandboxPolicy]] : []),
    ...(isForEveryPage ? Object.entries(forEveryPage) : []),
  ].flat();
}

/** A redirect to where the program believes to be, led to where it is. */
function locationFor(location: string, { port, prefix }: PreviewTarget): string {
  const own = new RegExp(`^https?://(?:localhost|127\\.0\\.0\\.1|\\[::1\\]):${port}(?=[/?#]|$)`, 'i');
  const path = location.replace(own, '');
  if (path !== location) return `${prefix}${path.startsWith('/') ? path : `/${path}`}`;
  const isPath = location.startsWith('/') && !location.startsWith('//');
  return isPath ? `${prefix}${location}` : location;
}

/** Names in lower case with their values, without what is about one connection. */
function pairsOf(message: Raw): Pair[] {
  const flat = passedOn(message);
  return flat.flatMap((name, index): Pair[] =>
    index % 2 === 0 ? [[name.toLowerCase(), flat[index + 1] ?? '']] : [],
  );
}
