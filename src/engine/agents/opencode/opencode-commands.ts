import type { SlashCommand } from '../../protocol.ts';
import { objectsAt, textAt } from '../json-fields.ts';

/** Reads the answer to `GET /command`: opencode's own commands, those of the repository, and skills. */
export function readOpencodeCommands(answer: unknown): SlashCommand[] {
  return objectsAt({ answer }, 'answer')
    .map((entry) => ({
      command: textAt(entry, 'name'),
      description: textAt(entry, 'description').slice(0, MAX_DESCRIPTION),
      argumentHint: hintOf(entry.hints).slice(0, MAX_HINT) || null,
    }))
    .filter(({ command }) => command !== '' && command.length <= MAX_NAME);
}

/** As the protocol has them. */
const MAX_NAME = 200;
const MAX_DESCRIPTION = 2_000;
const MAX_HINT = 500;

/** The places of its text that are filled in, as `$1` or `$ARGUMENTS`. */
function hintOf(places: unknown): string {
  const names = Array.isArray(places) ? places.filter((place) => typeof place === 'string') : [];
  return names.map((name) => `<${name.replace(/^\$/, '').toLowerCase()}>`).join(' ');
}
