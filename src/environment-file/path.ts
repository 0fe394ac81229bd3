/** The home directory inside every workspace. */
export const HOME_DIRECTORY = '/home/replica';

/** The longest name Linux file systems take for one file or folder. */
const MAX_SEGMENT_BYTES = 255;
/** The folder in the home directory that the service itself writes to. */
const OWN_FOLDER = '.replica';

type ParsedPath = { path: string; refusal: null } | { path: null; refusal: string };

/** Reads `~/…` or `/home/replica/…` into the one spelling that is kept, `~/…`; `refusal` is a sentence. */
export function parseFilePath(given: string): ParsedPath {
  const below = belowHome(given);
  if (below === null) {
    return refuse(`The path must be below the home directory: start it with ~/ or ${HOME_DIRECTORY}/.`);
  }
  const segments = below.split('/');
  const refusal = refuseFolder(segments) ?? segments.map(refuseSegment).find((problem) => problem !== null);
  return refusal ? refuse(refusal) : { path: `~/${below}`, refusal: null };
}

/**
 * The path among `others` that cannot exist beside this one, because one of the two would have to be a file and a
 * folder at once; null when there is none.
 */
export function findNestedPath(path: string, others: readonly string[]): string | null {
  return others.find((other) => path.startsWith(`${other}/`) || other.startsWith(`${path}/`)) ?? null;
}

function belowHome(given: string): string | null {
  const home = ['~/', `${HOME_DIRECTORY}/`].find((prefix) => given.startsWith(prefix));
  return home === undefined ? null : given.slice(home.length);
}

function refuseFolder(segments: readonly string[]): string | null {
  if (segments.at(-1) === '') return 'The path must name a file: it must not end with a slash.';
  if (segments[0] === OWN_FOLDER)
    return `The folder ~/${OWN_FOLDER} belongs to the service; choose another path.`;
  return null;
}

function refuseSegment(segment: string): string | null {
  if (segment === '') return 'The path must not contain an empty part, as in //.';
  if (segment === '..' || segment === '.') return `The path must not contain the part "${segment}".`;
  if (/\p{Cc}/u.test(segment)) return 'The path must not contain control characters.';
  if (Buffer.byteLength(segment) > MAX_SEGMENT_BYTES) {
    return `Each part of the path must be at most ${MAX_SEGMENT_BYTES} bytes.`;
  }
  return null;
}

function refuse(refusal: string): ParsedPath {
  return { path: null, refusal };
}
