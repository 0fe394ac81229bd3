import { isCommit } from './git-bases.ts';

/** What a kept bundle belongs to. The base is null for a repository that began empty, the branch for a HEAD on none. */
export type ShadowHead = {
  base: string | null;
  head: string | null;
  shadow: string;
  branch: string | null;
};

/** What is null is the commit of zeros, as git writes it. Names of branches may hold characters that headers cannot. */
export function writeShadowHeaders({ base, head, shadow, branch }: ShadowHead): Record<string, string> {
  return {
    'x-base-commit': base ?? NO_COMMIT,
    'x-head-commit': head ?? NO_COMMIT,
    'x-shadow-commit': shadow,
    'x-branch': encodeURIComponent(branch ?? ''),
  };
}

/** Null when the headers are not those of a shadow. */
export function readShadowHeaders(headers: Record<string, string>): ShadowHead | null {
  const [base, head, shadow] = ['x-base-commit', 'x-head-commit', 'x-shadow-commit'].map(
    (name) => headers[name],
  );
  if (!isCommit(base) || !isCommit(head) || !isCommit(shadow)) return null;
  return { base: orNull(base), head: orNull(head), shadow, branch: readBranch(headers['x-branch'] ?? '') };
}

const NO_COMMIT = '0'.repeat(40);

function orNull(commit: string): string | null {
  return /^0+$/.test(commit) ? null : commit;
}

function readBranch(text: string): string | null {
  try {
    return decodeURIComponent(text) || null;
  } catch {
    return null;
  }
}
