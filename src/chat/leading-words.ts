export type Modes = { plan: boolean; goal: boolean; fast: boolean };

const word = /^\s*\/(plan|goal|fast)(?=\s|$)/;

/**
 * Takes `/plan`, `/goal` and `/fast` off the beginning of a message, in any order and mix. The first word that is none of
 * them ends it, and so does `/goal` where the agent knows no goals: it is then part of the text.
 */
export function readLeadingWords(text: string, agent: { hasGoals: boolean }): Modes & { text: string } {
  const modes: Modes = { plan: false, goal: false, fast: false };
  let rest = text;
  for (;;) {
    const found = word.exec(rest);
    const mode = found?.[1] as keyof Modes | undefined;
    if (!found || !mode || (mode === 'goal' && !agent.hasGoals)) break;
    modes[mode] = true;
    rest = rest.slice(found[0].length);
  }
  return { ...modes, text: rest === text ? text : rest.trimStart() };
}
