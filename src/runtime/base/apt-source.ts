/** One place that apt fetches packages from. */
export type AptSource = { uri: string; suites: string[] };

const DEFAULT_MIRROR = 'http://deb.debian.org/debian';
const DEFAULT_SECURITY_MIRROR = 'http://deb.debian.org/debian-security';

/** The mirrors this machine uses for Debian, so that a machine behind a wall of its own needs no setting; else Debian's. */
export function findMirrors(
  sources: readonly AptSource[],
  suite: string,
): { main: string; security: string } {
  const usable = sources.filter(({ uri }) => isUsable(uri));
  const pick = (wanted: string, ending: string) =>
    usable.find(({ suites }) => suites.includes(wanted)) ?? usable.find(({ uri }) => uri.endsWith(ending));
  return {
    main: pick(suite, '/debian')?.uri ?? DEFAULT_MIRROR,
    security: pick(`${suite}-security`, '/debian-security')?.uri ?? DEFAULT_SECURITY_MIRROR,
  };
}

/** Reads a file of /etc/apt: `*.sources` has paragraphs of fields, everything else one line per source. */
export function parseSources(text: string, fileName: string): AptSource[] {
  const lines = text.split('\n').filter((line) => !/^\s*#/.test(line));
  return fileName.endsWith('.sources') ? parseParagraphs(lines) : parseLines(lines);
}

function parseLines(lines: readonly string[]): AptSource[] {
  return lines.flatMap((line) => {
    const [, uri, suite] = /^\s*deb\s+(?:\[[^\]]*\]\s+)?(\S+)\s+(\S+)/.exec(line) ?? [];
    return uri !== undefined && suite !== undefined ? [{ uri: trimmed(uri), suites: [suite] }] : [];
  });
}

function parseParagraphs(lines: readonly string[]): AptSource[] {
  const paragraphs = lines.join('\n').split(/\n\s*\n/);
  return paragraphs.flatMap((paragraph) => {
    const fields = readFields(paragraph);
    if (!fields.get('types')?.includes('deb') || fields.get('enabled')?.includes('no')) return [];
    const suites = fields.get('suites') ?? [];
    return (fields.get('uris') ?? []).map((uri) => ({ uri: trimmed(uri), suites }));
  });
}

function readFields(paragraph: string): Map<string, string[]> {
  const fields = new Map<string, string[]>();
  // A line that begins with a blank continues the field above it.
  for (const line of paragraph.replace(/\n[ \t]+/g, ' ').split('\n')) {
    const [, name, value] = /^([A-Za-z-]+):\s*(.*)$/.exec(line) ?? [];
    if (name !== undefined && value !== undefined)
      fields.set(name.toLowerCase(), value.split(/\s+/).filter(Boolean));
  }
  return fields;
}

/** An address with a password in it would show in the list of processes while the tree is built. */
function isUsable(uri: string): boolean {
  const url = URL.parse(uri);
  return url !== null && /^https?:$/.test(url.protocol) && url.username === '' && url.password === '';
}

function trimmed(uri: string): string {
  return uri.replace(/\/+$/, '');
}
