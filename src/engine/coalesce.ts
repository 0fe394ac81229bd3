/**
 * Runs work one at a time. Whoever asks while it runs gets a run that starts afterwards and so sees everything that
 * was there when they asked; many who ask share that one.
 */
export function coalesce<T>(work: () => Promise<T>): () => Promise<T> {
  let running: Promise<T> | null = null;
  let next: Promise<T> | null = null;

  function start(): Promise<T> {
    const run = work().finally(() => {
      if (running === run) running = null;
    });
    running = run;
    return run;
  }

  return () => {
    if (running === null) return start();
    next ??= running.then(
      () => startNext(),
      () => startNext(),
    );
    return next;
  };

  function startNext(): Promise<T> {
    next = null;
    return start();
  }
}
