import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

// biome-ignore lint/suspicious/noExplicitAny: a test changes the parts of a recorded payload it is about.
export type Recorded = any;
type RecordedEvent = { name: string; payload: Recorded };

const file = fileURLToPath(import.meta.resolve('@octokit/webhooks-examples/api.github.com/index.json'));

/** Every event that was recorded from GitHub. */
export const recordedEvents: readonly RecordedEvent[] = read();

function read(): RecordedEvent[] {
  const kinds = JSON.parse(readFileSync(file, 'utf8')) as { name: string; examples: Recorded[] }[];
  return kinds.flatMap(({ name, examples }) => examples.map((payload) => ({ name, payload })));
}

/** A copy of the first recorded event of a name that fits. */
export function recorded(
  name: string,
  fits: string | ((payload: Recorded) => boolean) = () => true,
): Recorded {
  const isWanted = typeof fits === 'string' ? (payload: Recorded) => payload.action === fits : fits;
  const found = recordedEvents.find((event) => event.name === name && isWanted(event.payload));
  if (!found) throw new Error(`no such event of ${name} was recorded`);
  return structuredClone(found.payload);
}

/** The recorded event as if it were of the repository at this URL. */
export function recordedAt(url: string, name: string, fits?: Parameters<typeof recorded>[1]): Recorded {
  const payload = recorded(name, fits);
  payload.repository.clone_url = url;
  return payload;
}
