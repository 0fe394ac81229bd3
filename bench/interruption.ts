/** A signal that comes with Ctrl-C, so that a bench cleans up and leaves; a second Ctrl-C leaves at once. */
export function watchInterruption(): { signal: AbortSignal } & Disposable {
  const controller = new AbortController();
  const names = ['SIGINT', 'SIGTERM'] as const;
  const stop = () => {
    letGo();
    controller.abort();
  };
  const letGo = () => {
    for (const name of names) process.off(name, stop);
  };
  for (const name of names) process.on(name, stop);
  return { signal: controller.signal, [Symbol.dispose]: letGo };
}
