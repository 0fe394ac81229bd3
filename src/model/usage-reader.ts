import { StringDecoder } from 'node:string_decoder';
import { createUsageTally, type TokenUsage } from './usage.ts';

export type UsageReader = {
  /** Looks at a piece of the answer as it passes. */
  read(chunk: Buffer): void;
  end(): TokenUsage;
};

/** An answer in one piece, and a single event of a stream, are looked at up to this size. */
const MAX_CHARACTERS = 4_000_000;

/** Reads what an answer has used off its bytes while they are passed on, whether it is a stream of events or not. */
export function createUsageReader({ isStream }: { isStream: boolean }): UsageReader {
  const tally = createUsageTally();
  const decoder = new StringDecoder('utf8');
  // What has not come to its end: a line of a stream, or the whole of another answer.
  let pieces: string[] = [];
  let characters = 0;
  let isModelLookedFor = true;

  function append(text: string): void {
    characters += text.length;
    // What is too long is passed over to its end, and nothing of it is kept.
    if (characters > MAX_CHARACTERS) pieces = [];
    else pieces.push(text);
  }

  function take(): string {
    const text = pieces.join('');
    pieces = [];
    characters = 0;
    return text;
  }

  /** Most events are pieces of text without a word about usage, and are not worth parsing; the first names the model. */
  function takeLine(line: string): void {
    if (!line.startsWith('data:') || !(isModelLookedFor || line.includes('"usage"'))) return;
    isModelLookedFor = false;
    tally.add(parse(line.slice(5)));
  }

  return {
    read(chunk) {
      const [first = '', ...lines] = isStream ? decoder.write(chunk).split('\n') : [decoder.write(chunk)];
      append(first);
      for (const line of lines) {
        takeLine(take());
        append(line);
      }
    },
    end() {
      append(decoder.end());
      if (isStream) takeLine(take());
      else tally.add(parse(take()));
      return tally.result();
    },
  };
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
