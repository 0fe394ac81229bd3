/** Whether PostgreSQL can store the text and give it back unchanged: no NUL, no lone surrogate. */
export function isStorableText(text: string): boolean {
  return !text.includes('\0') && text.isWellFormed();
}

/** The length in UTF-8, which is what limits count. */
export function byteLength(text: string): number {
  return Buffer.byteLength(text, 'utf8');
}

/** The longest beginning of the text that fits into so many UTF-8 bytes; a character is never cut in two. */
export function truncateBytes(text: string, maxBytes: number): string {
  // A UTF-16 unit takes at most three bytes, which decides most texts without encoding them.
  if (text.length * 3 <= maxBytes) return text;
  const { read } = new TextEncoder().encodeInto(text, new Uint8Array(Math.max(0, maxBytes)));
  return text.slice(0, read);
}
