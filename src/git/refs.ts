/** What a remote offers, as `git ls-remote --symref` writes it. */
export type RemoteRefs = {
  /** The branch that the remote's HEAD names; null when HEAD names none that exists. */
  defaultBranch: string | null;
  headCommit: string | null;
  /** Branch name to commit. */
  branches: Map<string, string>;
};

export function parseRefs(text: string): RemoteRefs {
  const branches = new Map<string, string>();
  let headBranch: string | null = null;
  let headCommit: string | null = null;
  for (const line of text.split('\n')) {
    const [left = '', ref = ''] = line.split('\t', 2);
    if (ref === 'HEAD' && left.startsWith('ref: ')) headBranch = branchOf(left.slice('ref: '.length));
    else if (!/^(?:[0-9a-f]{40}|[0-9a-f]{64})$/.test(left)) continue;
    else if (ref === 'HEAD') headCommit = left;
    else {
      const branch = branchOf(ref);
      if (branch !== null) branches.set(branch, left);
    }
  }
  const defaultBranch = headBranch ?? branchAt(branches, headCommit);
  return {
    defaultBranch: defaultBranch !== null && branches.has(defaultBranch) ? defaultBranch : null,
    headCommit,
    branches,
  };
}

/** git's own rules for a branch name; a name that breaks them would mean something else inside a refspec. */
export function isBranchName(name: string): boolean {
  if (name === '' || name.length > 255 || name === '@' || name === 'HEAD') return false;
  if (/[\p{Cc}\p{Cs}\uFFFD ~^:?*[\\]|\.\.|@\{|\/\//u.test(name)) return false;
  if (/^[-/]|[/.]$/.test(name)) return false;
  return name.split('/').every((part) => !part.startsWith('.') && !part.endsWith('.lock'));
}

function branchOf(ref: string): string | null {
  const name = ref.startsWith('refs/heads/') ? ref.slice('refs/heads/'.length) : '';
  return isBranchName(name) ? name : null;
}

/** Old servers do not say which branch HEAD names; it is then one that stands at the same commit. */
function branchAt(branches: Map<string, string>, commit: string | null): string | null {
  if (commit === null) return null;
  const candidates = [...branches].filter(([, at]) => at === commit).map(([name]) => name);
  return ['main', 'master'].find((name) => candidates.includes(name)) ?? candidates[0] ?? null;
}
