const IDLE_MS = 5_000;

export type IdleCollector = {
  /** Something has happened that leaves garbage behind. */
  touch(): void;
};

/**
 * Collects garbage once nothing has happened for a while. Left to itself, Node keeps the memory of its busiest moment,
 * which is a third of an engine, and there is one in every sandbox.
 */
export function createIdleCollector(idleMs: number = IDLE_MS): IdleCollector {
  let touchedAt = 0;
  let isWaiting = false;

  return {
    touch() {
      touchedAt = performance.now();
      if (!isWaiting) wait(idleMs);
    },
  };

  function wait(forMs: number): void {
    isWaiting = true;
    setTimeout(() => {
      isWaiting = false;
      const leftMs = touchedAt + idleMs - performance.now();
      if (leftMs > 0) wait(leftMs);
      else collect();
    }, forMs).unref();
  }
}

/** Asked for when the process starts, the same function would cost every start 20 ms. */
function collect(): void {
  process.getBuiltinModule('node:v8').setFlagsFromString('--expose-gc');
  const gc: unknown = process.getBuiltinModule('node:vm').runInNewContext('gc');
  if (typeof gc === 'function') gc({ type: 'major', execution: 'sync', flavor: 'last-resort' });
}
