import { truncateBytes } from '../lib/text.ts';
import { engineLimits } from './limits.ts';

const COLLECT_MS = 50;

export type HookOutput = {
  /** What the hook wrote; resolves when more can be taken. */
  write(bytes: Buffer): Promise<void>;
  /** A line of the engine's own, which is kept whatever there was before. */
  say(line: string): void;
  /** Passes on what is left. */
  end(): Promise<void>;
};

/** Makes text of what a hook writes and passes it on in pieces, so many bytes of it in all and not more. */
export function createHookOutput({
  pass,
  maxBytes = engineLimits.hookLogBytes,
}: {
  pass(text: string): Promise<void>;
  maxBytes?: number;
}): HookOutput {
  // Bytes that are no UTF-8 become replacement characters; a character that comes in two pieces stays one.
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
  let text = '';
  let totalBytes = 0;
  let keptBytes = 0;
  let isCut = false;
  let timer: NodeJS.Timeout | null = null;
  let passed: Promise<void> = Promise.resolve();

  return {
    async write(bytes) {
      totalBytes += bytes.length;
      if (isCut) return;
      keep(decoder.decode(bytes, { stream: true }));
      if (text.length >= engineLimits.hookOutputCharacters) await flush();
      else timer ??= setTimeout(flush, COLLECT_MS);
    },
    say(line) {
      text += `${text === '' || text.endsWith('\n') ? '' : '\n'}[${line}]\n`;
    },
    async end() {
      if (!isCut) keep(decoder.decode());
      if (isCut) text += `[${totalBytes} bytes were written in all.]\n`;
      await flush();
    },
  };

  function keep(decoded: string): void {
    // PostgreSQL has no place for NUL.
    const clean = decoded.replaceAll('\0', '\ufffd');
    const kept = truncateBytes(clean, maxBytes - keptBytes);
    keptBytes += Buffer.byteLength(kept);
    text += kept;
    if (kept.length === clean.length) return;
    isCut = true;
    text += `\n[The output is longer than ${maxBytes} bytes; the rest is not kept.]\n`;
  }

  function flush(): Promise<void> {
    if (timer) clearTimeout(timer);
    timer = null;
    const pieces = splitText(text, engineLimits.hookOutputCharacters);
    text = '';
    passed = passed.then(async () => {
      for (const piece of pieces) await pass(piece);
    });
    // Whoever ends the output hears of it.
    passed.catch(() => {});
    return passed;
  }
}

/** Pieces of at most so many characters; the two halves of one character are never in different pieces. */
export function splitText(text: string, maxCharacters: number): string[] {
  const pieces: string[] = [];
  for (let start = 0; start < text.length; ) {
    let end = Math.min(start + maxCharacters, text.length);
    if (end < text.length && /[\ud800-\udbff]/.test(text.charAt(end - 1))) end -= 1;
    pieces.push(text.slice(start, end));
    start = end;
  }
  return pieces;
}
