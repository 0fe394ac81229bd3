import { watchInterruption } from './interruption.ts';
import { type LiveService, startLiveService } from './live-service.ts';
import { progress } from './progress.ts';
import { printTable, type TableRow } from './table.ts';

/**
 * Starts the service with real sandboxes, measures on it, removes everything and prints the table of what was measured, also
 * when something broke or somebody interrupted.
 */
export async function withLiveService(
  measure: (
    live: LiveService,
    options: { signal: AbortSignal; report(rows: readonly TableRow[]): void },
  ) => Promise<void>,
  environment: Record<string, string> = {},
): Promise<void> {
  using interruption = watchInterruption();
  const { signal } = interruption;
  const rows: TableRow[] = [];
  try {
    progress('starting the service');
    await using live = await startLiveService(signal, environment);
    try {
      await measure(live, { signal, report: (measured) => rows.push(...measured) });
    } catch (error) {
      if (!signal.aborted) progress(live.lastWords());
      throw error;
    } finally {
      progress('removing everything');
    }
  } catch (error) {
    // What breaks after an interruption breaks because of it, unless it is the removal.
    if (!signal.aborted || error instanceof SuppressedError) throw error;
    progress('interrupted; nothing is left behind');
    process.exitCode = 130;
  } finally {
    // What was measured before something broke has taken long, and is worth as much as before.
    if (rows.length > 0) printTable(rows);
  }
}
