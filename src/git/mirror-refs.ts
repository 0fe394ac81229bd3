import { GitError } from './failure.ts';
import { isGitHost } from './probe.ts';
import { isBranchName } from './refs.ts';
import type { CheckedRemote } from './remote.ts';
import type { Runner } from './runner.ts';

/** What a remote offers to mirror. */
export type MirrorRefs = {
  /** Full names of branches and tags to what they point at. */
  refs: Map<string, string>;
  /** What a bare repository's file HEAD says: a branch by `ref: `, or a commit; null when the remote has none. */
  head: string | null;
};

const mebibyte = 1_048_576;
/** About half a million refs. */
export const maxRefBytes = 64 * mebibyte;

/** Asks for all branches and tags; the remote that is returned is the one that answered. */
export async function askRemote(options: {
  run: Runner;
  remote: CheckedRemote;
  signal: AbortSignal;
}): Promise<{ remote: CheckedRemote; offer: MirrorRefs }> {
  const { remote } = options;
  try {
    return { remote, offer: await list(options) };
  } catch (error) {
    // Some hosts redirect from the address of a repository's page to the same one with `.git`.
    if (!isKind(error, 'refused') || remote.url.endsWith('.git')) throw error;
    const suffixed = { ...remote, url: `${remote.url}.git` };
    const offer = await list({ ...options, remote: suffixed }).catch((second: unknown) => {
      throw isKind(second, 'not_found') ? error : second;
    });
    return { remote: suffixed, offer };
  }
}

async function list({ run, remote, signal }: Parameters<typeof askRemote>[0]): Promise<MirrorRefs> {
  const output = await run({
    args: ['ls-remote', '--symref', '--end-of-options', remote.url, 'HEAD', 'refs/heads/*', 'refs/tags/*'],
    remote,
    signal,
    maxOutputBytes: maxRefBytes,
    maxMemoryBytes: 1024 * mebibyte,
  });
  const offer = parseMirrorRefs(output.toString());
  // For `ls-remote` any web page is a repository without branches.
  if (offer.refs.size === 0 && offer.head === null && !(await isGitHost(remote, signal))) {
    throw new GitError('not_found', 'The server at this URL does not answer like a git host.');
  }
  return offer;
}

/** Reads what `git ls-remote --symref` writes. */
export function parseMirrorRefs(text: string): MirrorRefs {
  const refs = new Map<string, string>();
  let branch: string | null = null;
  let commit: string | null = null;
  for (const line of text.split('\n')) {
    const [left = '', name = ''] = line.split('\t', 2);
    if (name === 'HEAD' && left.startsWith('ref: ')) branch = left.slice('ref: '.length);
    else if (!/^(?:[0-9a-f]{40}|[0-9a-f]{64})$/.test(left)) continue;
    else if (name === 'HEAD') commit = left;
    // `^{}` follows an annotated tag and says which commit it means.
    else if (/^refs\/(?:heads|tags)\//.test(name) && !name.endsWith('^{}')) refs.set(name, left);
  }
  if (branch !== null && refs.has(branch) && isBranchName(branch.slice('refs/heads/'.length))) {
    return { refs, head: `ref: ${branch}` };
  }
  return { refs, head: commit };
}

export function isKind(error: unknown, ...kinds: GitError['kind'][]): boolean {
  return error instanceof GitError && kinds.includes(error.kind);
}
