import type { JsonObject } from '../agent.ts';

/**
 * The events that opencode sends, each a line of data. A line that is longer than the bound is dropped, and said to be,
 * without ever being held as a whole; what holds no object is passed over.
 */
export async function* readOpencodeStream(
  stream: AsyncIterable<string>,
  { maxCharacters, dropped }: { maxCharacters: number; dropped(characters: number): void },
): AsyncGenerator<JsonObject> {
  let rest = '';
  let lost = 0;
  for await (const chunk of stream) {
    // A long line comes in many chunks, and is joined only when it is whole.
    const lines = chunk.includes('\n') ? (rest + chunk).split('\n') : [rest + chunk];
    rest = lines.pop() ?? '';
    for (const line of lines) {
      const event = lost === 0 ? parse(line) : null;
      if (lost > 0) dropped(lost + line.length);
      lost = 0;
      if (event !== null) yield event;
    }
    if (lost + rest.length <= maxCharacters) continue;
    lost += rest.length;
    rest = '';
  }
}

const LABEL = 'data:';

function parse(line: string): JsonObject | null {
  if (!line.startsWith(LABEL)) return null;
  try {
    const event = JSON.parse(line.slice(LABEL.length)) as unknown;
    return typeof event === 'object' && event !== null ? (event as JsonObject) : null;
  } catch {
    return null;
  }
}
