const MAX_NAMES = 5;
const MAX_NAME_CHARACTERS = 100;

/** A name that a stranger chose, for a sentence: on one line and not too long. */
export function quoted(name: string): string {
  return `"${name
    .replace(/[\p{Cc}\p{Cs}]+/gu, ' ')
    .slice(0, MAX_NAME_CHARACTERS)
    .toWellFormed()}"`;
}

/** The first names, and how many more there are. */
export function listed(names: readonly string[]): string {
  const shown = names.slice(0, MAX_NAMES).map(quoted);
  const more = names.length - shown.length;
  return more > 0 ? `${shown.join(', ')} and ${more} more` : shown.join(', ');
}
