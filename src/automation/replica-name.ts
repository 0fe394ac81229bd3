const MAX_WORDS = 60;

/** The name of a replica that an automation makes: words of the automation's own, and what tells one run from another. */
export function replicaName(automationName: string, executionId: string): string {
  const words = automationName
    .normalize('NFKD')
    .replaceAll(/\p{M}/gu, '')
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .slice(0, MAX_WORDS)
    .replaceAll(/^-+|-+$/g, '');
  return `${words || 'automation'}-${executionId.slice(-8)}`;
}
