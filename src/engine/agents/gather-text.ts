import type { AgentTurn } from './agent.ts';

type Kind = 'text' | 'thinking';

export type GatheredText = {
  /** Takes a piece of what is being written. */
  add(kind: Kind, piece: string): Promise<void>;
  /** Passes on what was gathered; to be called before anything else is reported, so that the order is right. */
  flush(): Promise<void>;
};

/** Joins pieces that follow each other quickly, so that those who watch get few of them and still see them come. */
export function gatherText({ delta }: Pick<AgentTurn, 'delta'>): GatheredText {
  let gathered: { kind: Kind; text: string } | null = null;
  let timer: NodeJS.Timeout | undefined;

  async function flush(): Promise<void> {
    clearTimeout(timer);
    timer = undefined;
    if (gathered === null) return;
    const { kind: type, text } = gathered;
    gathered = null;
    await delta({ type, text });
  }

  return {
    async add(kind, piece) {
      if (piece === '') return;
      if (gathered !== null && gathered.kind !== kind) await flush();
      gathered = { kind, text: (gathered?.text ?? '') + piece };
      if (gathered.text.length >= MAX_CHARACTERS) await flush();
      // What cannot be reported here cannot be reported by what follows either, and that is waited for.
      else timer ??= setTimeout(() => void flush().catch(() => {}), GATHER_MS);
    },
    flush,
  };
}

const GATHER_MS = 30;
const MAX_CHARACTERS = 16_000;
