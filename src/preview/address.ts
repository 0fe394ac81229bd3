/** How requests to previews are known: by their path, or by a host name of their own where there is a domain for it. */
export type PreviewTarget = {
  replicaId: string;
  port: number;
  form: 'path' | 'host';
  /** What stands before the path of the program for whoever asks; empty when it has a host name. */
  prefix: string;
  /** Path and query as the program gets them, without the token. */
  path: string;
  /** What a link carries in its query. */
  token: string | null;
};

export type PreviewAddresses = ReturnType<typeof createPreviewAddresses>;

export const TOKEN_PARAMETER = 'replica_token';

const UUID = '[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}';
const PORT = '[1-9][0-9]{0,4}';
const byPath = new RegExp(`^/p/(${UUID})/(${PORT})(?=[/?]|$)`, 'i');
const byHost = new RegExp(`^(${PORT})--(${UUID})$`, 'i');
const MAX_PORT = 65_535;

/** Where previews are, and which preview a request means. */
export function createPreviewAddresses({ baseUrl, domain }: { baseUrl: string; domain: string | undefined }) {
  const base = new URL(baseUrl);
  const scheme = base.protocol.slice(0, -1);
  // A path in the base URL belongs to a proxy in front, which takes it away.
  const basePath = base.pathname.replace(/\/+$/, '');
  const browserDomain = domain ?? localDomain(base);
  const domainName = browserDomain && withoutPort(browserDomain);

  /** Where everything that speaks HTTP finds it. */
  function urlOf(preview: Place): string {
    return domain ? at(domain, preview) : `${baseUrl}/p/${preview.replicaId}/${preview.port}/`;
  }

  /** Where a browser finds it: on an origin of its own if there can be one, because pages work fully only there. */
  function browserUrlOf(preview: Place): string {
    return browserDomain ? at(browserDomain, preview) : urlOf(preview);
  }

  function at(parent: string, { replicaId, port }: Place): string {
    return `${scheme}://${port}--${replicaId}.${parent}/`;
  }

  /** Null for what is no request to a preview. */
  function parse(request: { host: string | undefined; url: string }): PreviewTarget | null {
    const { url } = request;
    if (!url.startsWith('/')) return null;
    const label = labelOf(request.host);
    const [, hostPort, hostId] = (label && byHost.exec(label)) || [];
    if (hostPort && hostId)
      return targetOf({ id: hostId, port: hostPort, form: 'host', prefix: '', rest: url });
    const [start, id, port] = byPath.exec(url) ?? [];
    if (!start || !id || !port) return null;
    return targetOf({ id, port, form: 'path', prefix: `${basePath}${start}`, rest: url.slice(start.length) });
  }

  /** What stands before our domain in a host name. */
  function labelOf(host: string | undefined): string | null {
    const name = withoutPort(host ?? '').toLowerCase();
    const isOurs = domainName && name.endsWith(`.${domainName}`);
    return isOurs ? name.slice(0, -domainName.length - 1) : null;
  }

  return { scheme, urlOf, browserUrlOf, parse };
}

/** Browsers lead every name below localhost to their own machine, so a service on it needs no domain to have host names. */
function localDomain({ protocol, hostname, port, pathname }: URL): string | undefined {
  const isLocal = /^(localhost|127(\.\d+){3}|\[::1\])$/.test(hostname);
  if (!isLocal || protocol !== 'http:' || pathname !== '/') return undefined;
  return port === '' ? 'localhost' : `localhost:${port}`;
}

type Place = { replicaId: string; port: number };
type Found = { id: string; port: string; form: PreviewTarget['form']; prefix: string; rest: string };

function targetOf({ id, port, form, prefix, rest }: Found): PreviewTarget | null {
  if (Number(port) > MAX_PORT) return null;
  const [path = '', ...query] = rest.split('?');
  const parameters = query.length > 0 ? query.join('?').split('&') : [];
  const passed = parameters.filter((each) => !isToken(each));
  return {
    replicaId: id.toLowerCase(),
    port: Number(port),
    form,
    prefix,
    path: passed.length > 0 ? `${path}?${passed.join('&')}` : path,
    token: parameters.find(isToken)?.slice(TOKEN_PARAMETER.length + 1) ?? null,
  };
}

const isToken = (parameter: string) => parameter.startsWith(`${TOKEN_PARAMETER}=`);

function withoutPort(host: string): string {
  return host.replace(/:\d+$/, '');
}
