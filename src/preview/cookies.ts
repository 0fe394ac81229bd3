import type { PreviewTarget } from './address.ts';

/** The cookie of a browser that has opened a link. */
export const SESSION_COOKIE = 'replica_preview';
/**
 * Under /p/ a program shares a host with the service. Its cookies have this before their names there, so that it can set
 * none of ours, and gets none of ours to see.
 */
const programPrefix = `${SESSION_COOKIE}.`;

type Place = Pick<PreviewTarget, 'form' | 'prefix'>;

/** The values under which a browser claims a session. There may be several, set for wider domains by somebody else. */
export function sessionsIn(header: string | undefined): string[] {
  return pairsOf(header)
    .filter(([name]) => name === SESSION_COOKIE)
    .map(([, value]) => value)
    .slice(0, 4);
}

/** The cookies that a program gets to see; null when there are none. */
export function cookiesForProgram(header: string | undefined, { form }: Place): string | null {
  const passed = pairsOf(header).flatMap(([name, value]) => {
    if (form === 'host') return name === SESSION_COOKIE ? [] : [`${name}=${value}`];
    return name.startsWith(programPrefix) ? [`${name.slice(programPrefix.length)}=${value}`] : [];
  });
  return passed.length > 0 ? passed.join('; ') : null;
}

/** A cookie that a program sets, kept to its own preview; null when it is none that it may set. */
export function cookieFromProgram(header: string, { form, prefix }: Place): string | null {
  const [pair = '', ...attributes] = header.split(';');
  const equals = pair.indexOf('=');
  const name = pair.slice(0, Math.max(equals, 0)).trim();
  // Browsers send a cookie without a name as its bare value, which may look like any other cookie.
  if (name === '' || (form === 'host' && name === SESSION_COOKIE)) return null;
  const kept = attributes
    .map((attribute) => attribute.trim())
    .filter((attribute) => !isWidening(attribute, form));
  const value = pair.slice(equals + 1).trim();
  if (form === 'host') return [`${name}=${value}`, ...kept].join('; ');
  return [`${programPrefix}${name}=${value}`, ...kept, `Path=${prefix}/`].join('; ');
}

export function sessionCookie(
  session: { value: string; maxAgeMs: number; isSecure: boolean },
  { prefix }: Place,
): string {
  const attributes = [
    `${SESSION_COOKIE}=${session.value}`,
    `Path=${prefix}/`,
    `Max-Age=${Math.floor(session.maxAgeMs / 1000)}`,
    'HttpOnly',
    'SameSite=Lax',
  ];
  return [...attributes, ...(session.isSecure ? ['Secure'] : [])].join('; ');
}

/** Whether it would give the cookie to more than the preview. */
function isWidening(attribute: string, form: Place['form']): boolean {
  const name = attribute.split('=', 1)[0]?.trim().toLowerCase();
  return name === 'domain' || (form === 'path' && name === 'path');
}

function pairsOf(header: string | undefined): [name: string, value: string][] {
  return (header ?? '').split(';').flatMap((pair): [string, string][] => {
    const equals = pair.indexOf('=');
    return equals < 0 ? [] : [[pair.slice(0, equals).trim(), pair.slice(equals + 1).trim()]];
  });
}
