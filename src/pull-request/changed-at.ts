import { at } from '../git-event/reading.ts';

/** Where the payloads of GitHub and GitLab say when the pull request itself was changed; a note has times of its own. */
const places: readonly (readonly string[])[] = [
  ['pull_request', 'updated_at'],
  ['issue', 'updated_at'],
  ['merge_request', 'updated_at'],
  ['object_attributes', 'updated_at'],
];

/** The last year of four digits: what is later can be written in some places and not in others. */
const LATEST_MS = Date.UTC(9_999, 11, 31);

/** When a pull request was changed, by the clock of its host; null when the event does not say. */
export function changedAt(payload: unknown): Date | null {
  const said = places.map((place) => at(payload, ...place)).find((value) => typeof value === 'string');
  const time = new Date(String(said ?? ''));
  return time.getTime() <= LATEST_MS ? time : null;
}
