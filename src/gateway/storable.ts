/** Deeper than anything an agent says; what is hidden below it is left out. */
const MAX_DEPTH = 64;

/** The same value with every string as PostgreSQL can keep it: no NUL, no lone surrogate. */
export function toStorable(value: unknown, depth = 0): unknown {
  if (depth > MAX_DEPTH) return null;
  if (typeof value === 'string') return value.toWellFormed().replaceAll('\0', '\uFFFD');
  if (Array.isArray(value)) return value.map((each) => toStorable(each, depth + 1));
  if (typeof value === 'object' && value !== null) {
    return Object.fromEntries(
      Object.entries(value).map(([key, each]) => [toStorable(key) as string, toStorable(each, depth + 1)]),
    );
  }
  return value;
}
