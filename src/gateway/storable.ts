/** Deeper than anything an agent says; what is hidden below it is left out. */
const MAX_DEPTH = 64;

/**
 * The same value with every string as PostgreSQL can keep it: no NUL, no lone surrogate. Almost everything is so
 * already, and is given back as it is: looking costs a small part of what copying does.
 */
export function toStorable(value: unknown): unknown {
  return isStorable(value, 0) ? value : copyStorable(value, 0);
}

function isStorable(value: unknown, depth: number): boolean {
  if (depth > MAX_DEPTH) return value === null;
  if (typeof value === 'string') return isStorableText(value);
  if (typeof value !== 'object' || value === null) return true;
  if (Array.isArray(value)) return value.every((each) => isStorable(each, depth + 1));
  for (const key in value) {
    if (!isStorableText(key) || !isStorable(value[key as keyof typeof value], depth + 1)) return false;
  }
  return true;
}

function copyStorable(value: unknown, depth: number): unknown {
  if (depth > MAX_DEPTH) return null;
  if (typeof value === 'string') return toStorableText(value);
  if (Array.isArray(value)) return value.map((each) => copyStorable(each, depth + 1));
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value);
  return Object.fromEntries(
    entries.map(([key, each]) => [toStorableText(key), copyStorable(each, depth + 1)]),
  );
}

function isStorableText(text: string): boolean {
  return text.isWellFormed() && !text.includes('\0');
}

function toStorableText(text: string): string {
  return isStorableText(text) ? text : text.toWellFormed().replaceAll('\0', '\uFFFD');
}
