import type { TurnRequest } from '../protocol.ts';

export type TurnWatch = {
  /** Aborted, with a sentence, when nothing was heard for too long or the turn takes too long in all. */
  signal: AbortSignal;
  heard(): void;
  end(): void;
};

/** Ends turns that would never end by themselves. */
export function watchTurn({
  silenceMs,
  durationMs,
}: Pick<TurnRequest, 'silenceMs' | 'durationMs'>): TurnWatch {
  const controller = new AbortController();
  const whole = setTimeout(
    () =>
      controller.abort(`The turn was ended after ${describe(durationMs)}, which is the most it may take.`),
    durationMs,
  );
  const silence = setTimeout(
    () => controller.abort(`The turn was ended because the agent said nothing for ${describe(silenceMs)}.`),
    silenceMs,
  );
  return {
    signal: controller.signal,
    heard: () => void silence.refresh(),
    end() {
      clearTimeout(whole);
      clearTimeout(silence);
    },
  };
}

function describe(ms: number): string {
  const seconds = Math.round(ms / 1_000);
  return seconds < 120 ? `${seconds} seconds` : `${Math.round(seconds / 60)} minutes`;
}
