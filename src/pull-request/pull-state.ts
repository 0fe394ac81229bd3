export type PullState = 'open' | 'merged' | 'closed';
/** What is known of a pull request. */
export type KnownPull = { state: PullState; head_commit: string | null; updated_at: Date | null };
/** What its host said of it, and of which moment of the host's clock, when that is known. */
export type SaidPull = { state: PullState; headCommit: string | null; changedAt: Date | null };

/**
 * What is known after the host has said something; null when that is older than what is known. Events come late, twice
 * and in any order. What was merged stays so; what was closed is open again only by word that is certainly newer.
 */
export function learn(known: KnownPull, said: SaidPull): KnownPull | null {
  if (known.state === 'merged') return null;
  const ageMs = (known.updated_at?.getTime() ?? 0) - (said.changedAt?.getTime() ?? Number.NaN);
  if (ageMs > 0) return null;
  const isReopened = known.state === 'closed' && said.state === 'open';
  if (isReopened && !(ageMs < 0)) return null;
  return {
    state: said.state,
    head_commit: said.headCommit ?? known.head_commit,
    updated_at: said.changedAt ?? known.updated_at,
  };
}
