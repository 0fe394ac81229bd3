/**
 * Puts text from outside into a block that it cannot end: only a line of at least as many backticks does, and nowhere
 * in the text stand so many in a row.
 */
export function fenced(text: string, language = ''): string {
  const longest = (text.match(/`+/g) ?? []).reduce((most, run) => Math.max(most, run.length), 2);
  const fence = '`'.repeat(longest + 1);
  return `${fence}${language}\n${text}\n${fence}`;
}
