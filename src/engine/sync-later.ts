import type { OutboxLog } from './outbox-log.ts';

/**
 * Syncs events that the gateway has not taken within that time, all at once. Those that came while others were waited for
 * get as much time, and are not forgotten when the others are taken.
 */
export function createSyncLater({ afterMs, onError }: { afterMs: number; onError(error: unknown): void }) {
  let timer: NodeJS.Timeout | null = null;
  let newest = 0;

  function wait(outbox: Pick<OutboxLog, 'acked' | 'sync'>): void {
    const number = newest;
    timer = setTimeout(() => {
      timer = null;
      if (outbox.acked < number) outbox.sync().catch(onError);
      else if (outbox.acked < newest) wait(outbox);
    }, afterMs).unref();
  }

  return {
    /** The event that was appended last has to outlive a power cut. */
    note(outbox: Pick<OutboxLog, 'acked' | 'next' | 'sync'>): void {
      newest = outbox.next - 1;
      if (!timer) wait(outbox);
    },
    close(): void {
      if (timer) clearTimeout(timer);
    },
  };
}
