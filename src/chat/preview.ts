const MAX_CHARACTERS = 200;

/** The beginning of a message on one line, for lists. A character is never cut in two. */
export function previewOf(text: string): string {
  const line = text.toWellFormed().replaceAll(/\s+/g, ' ').trim();
  // A character takes at most two units.
  const characters = [...line.slice(0, MAX_CHARACTERS * 2 + 2)];
  if (characters.length <= MAX_CHARACTERS) return line;
  return `${characters
    .slice(0, MAX_CHARACTERS - 1)
    .join('')
    .trimEnd()}…`;
}
