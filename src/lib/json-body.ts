// Strict reading of a JSON body from outside. JSON.parse makes the value; a scan before it refuses what JSON.parse
// lets pass: nesting without end, one key twice in an object (two readers of the same body may each believe another
// value), and `__proto__`, which turns into a prototype when an object is copied key by key.

export class JsonBodyError extends Error {
  override readonly name = 'JsonBodyError';
}

const QUOTE = 0x22;
const COMMA = 0x2c;
const BACKSLASH = 0x5c;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;
/** Turns a square bracket into the brace of the same side; no other character becomes a brace. */
const BRACKET_TO_BRACE = 0x20;
const KEY_SHOWN_CHARACTERS = 64;
/** Most objects are small, and a short list is searched faster than a set is filled. */
const KEYS_IN_LIST = 8;
/** Most strings are short, and reading them costs less than a call of indexOf. */
const SHORT_STRING_CHARACTERS = 24;

/** Keeps a byte order mark, which JSON.parse then refuses. */
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

type Keys = string[] | Set<string>;

export function parseJsonBody(bytes: Buffer, limits: { maxDepth: number }): unknown {
  const text = decodeUtf8(bytes);
  scan(text, limits.maxDepth);
  return parse(text);
}

function decodeUtf8(bytes: Buffer): string {
  try {
    return utf8.decode(bytes);
  } catch {
    throw new JsonBodyError('body is not valid UTF-8');
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // The parser's own message quotes the body, which may hold a secret, so it is not passed on.
    throw new JsonBodyError('body is not valid JSON');
  }
}

/** One pass without recursion. It may be wrong about text that is not JSON, which the parser refuses anyway. */
function scan(text: string, maxDepth: number): void {
  // One entry per open array or object: null for an array, the keys so far for an object.
  const open: (Keys | null)[] = [];
  let keys: Keys | null = null;
  let isKeyNext = false;
  for (let at = 0; at < text.length; at += 1) {
    const unit = text.charCodeAt(at);
    if (unit === QUOTE) {
      const end = findStringEnd(text, at);
      if (isKeyNext && keys !== null) {
        keys = withKey(keys, text.slice(at + 1, end));
        open[open.length - 1] = keys;
      }
      isKeyNext = false;
      at = end;
    } else if (unit === COMMA) {
      isKeyNext = keys !== null;
    } else if ((unit | BRACKET_TO_BRACE) === OPEN_OBJECT) {
      if (open.length >= maxDepth) throw new JsonBodyError(`body is nested deeper than ${maxDepth} levels`);
      isKeyNext = unit === OPEN_OBJECT;
      keys = isKeyNext ? [] : null;
      open.push(keys);
    } else if ((unit | BRACKET_TO_BRACE) === CLOSE_OBJECT) {
      open.pop();
      keys = open.at(-1) ?? null;
      isKeyNext = false;
    }
  }
}

function findStringEnd(text: string, start: number): number {
  const near = Math.min(text.length, start + SHORT_STRING_CHARACTERS);
  for (let at = start + 1; at < near; at += 1) {
    const unit = text.charCodeAt(at);
    if (unit === QUOTE) return at;
    if (unit === BACKSLASH) at += 1;
  }
  for (let end = start + 1; ; end += 1) {
    end = text.indexOf('"', end);
    if (end === -1) throw new JsonBodyError('body is not valid JSON');
    let before = end - 1;
    while (text.charCodeAt(before) === BACKSLASH) before -= 1;
    // An even number of backslashes escape each other and leave the quote as the end.
    if ((end - before) % 2 === 1) return end;
  }
}

function withKey(keys: Keys, written: string): Keys {
  // The same key can be written with and without escapes.
  const key = written.includes('\\') ? String(parse(`"${written}"`)) : written;
  if (key === '__proto__') throw new JsonBodyError('the key "__proto__" is not allowed');
  const isKnown = Array.isArray(keys) ? keys.includes(key) : keys.has(key);
  if (isKnown) throw new JsonBodyError(`the key ${show(key)} appears twice in one object`);
  if (!Array.isArray(keys)) return keys.add(key);
  keys.push(key);
  return keys.length > KEYS_IN_LIST ? new Set(keys) : keys;
}

function show(key: string): string {
  const isLong = key.length > KEY_SHOWN_CHARACTERS;
  return JSON.stringify(isLong ? `${key.slice(0, KEY_SHOWN_CHARACTERS)}…` : key);
}
