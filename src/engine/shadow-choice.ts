/** A file of the work tree that differs from the index; a folder is a repository of its own. */
export type Candidate = {
  path: string;
  /** The path's bytes, one in each character: names need not be UTF-8. */
  rawPath: string;
  bytes: number;
  isTracked: boolean;
  isFolder: boolean;
};

/** Chooses what is too large to be kept outside, so that keeping the rest neither fills the disk nor takes for ever. */
export function chooseLeftOut(
  candidates: readonly Candidate[],
  { maxFileBytes, maxTotalBytes }: { maxFileBytes: number; maxTotalBytes: number },
): Candidate[] {
  let total = 0;
  return candidates.filter((candidate) => {
    if (candidate.isFolder) return true;
    const fits = candidate.bytes <= maxFileBytes && total + candidate.bytes <= maxTotalBytes;
    if (fits) total += candidate.bytes;
    return !fits;
  });
}

/** For the user: what is not kept and why. */
export function describeLeftOut(leftOut: readonly Candidate[]): string | null {
  const [first] = leftOut;
  if (first === undefined) return null;
  const why = first.isFolder ? 'is a repository of its own' : `is too large (${mebibytes(first.bytes)} MiB)`;
  const others = leftOut.length > 1 ? `, and ${leftOut.length - 1} more are left out too` : '';
  return `Not all uncommitted work can be kept outside: ${first.path.slice(0, 500)} ${why}${others}.`;
}

/** The lines git would write for files it was not shown. */
export function diffLeftOut(leftOut: readonly Candidate[]): string {
  return leftOut
    .filter(({ isFolder }) => !isFolder)
    .slice(0, maxDiffEntries)
    .map(({ path, isTracked }) => {
      const [a, b] = [quote(`a/${path}`), quote(`b/${path}`)];
      const head = `diff --git ${a} ${b}\n${isTracked ? '' : 'new file mode 100644\n'}`;
      return `${head}Binary files ${isTracked ? a : '/dev/null'} and ${b} differ\n`;
    })
    .join('');
}

const maxDiffEntries = 100;

function mebibytes(bytes: number): string {
  return (bytes / 1_048_576).toFixed(1);
}

/** As git quotes names with characters that would break a line. */
function quote(path: string): string {
  const escapes: Record<string, string> = { '"': '\\"', '\\': '\\\\', '\n': '\\n', '\t': '\\t', '\r': '\\r' };
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is looked for.
  const quoted = path.replace(/["\\\u0000-\u001f\u007f]/g, (character) => {
    const octal = character.charCodeAt(0).toString(8).padStart(3, '0');
    return escapes[character] ?? `\\${octal}`;
  });
  return quoted === path ? path : `"${quoted}"`;
}
