/** A piece of a stream of server-sent events as it was sent. */
export type SseMessage = { id: string | null; event: string; data: string } | { comment: string };

/** Reads server-sent events out of the bytes of a body; a last one that did not come whole is left out. */
export async function* readSse(body: AsyncIterable<Uint8Array>): AsyncGenerator<SseMessage> {
  let fields: { id?: string; event?: string; data: string[] } = { data: [] };
  for await (const line of readLines(body)) {
    if (line === '') {
      if (fields.data.length > 0)
        yield { id: fields.id ?? null, event: fields.event ?? 'message', data: fields.data.join('\n') };
      fields = { data: [] };
      continue;
    }
    const { name, value } = parseField(line);
    if (name === '') yield { comment: value };
    if (name === 'data') fields.data.push(value);
    if (name === 'id' || name === 'event') fields[name] = value;
  }
}

function parseField(line: string): { name: string; value: string } {
  const colon = line.indexOf(':');
  if (colon < 0) return { name: line, value: '' };
  const start = line[colon + 1] === ' ' ? colon + 2 : colon + 1;
  return { name: line.slice(0, colon), value: line.slice(start) };
}

async function* readLines(body: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  // A line may be megabytes in many chunks; each is looked at once.
  let begun: string[] = [];
  for await (const chunk of body) {
    const [first = '', ...others] = decoder.decode(chunk, { stream: true }).split('\n');
    begun.push(first);
    for (const other of others) {
      const line = begun.join('');
      yield line.endsWith('\r') ? line.slice(0, -1) : line;
      begun = [other];
    }
  }
}
