import type { Socket } from 'node:net';

/** A client that is gone and one that has only said its last word look the same until something is sent to it. */
const lastWordMs = 60_000;

/** Carries bytes both ways until both sides have ended, or one of them breaks or falls silent. */
export function joinSockets(
  client: Socket,
  upstream: Socket,
  { idleMs, signal }: { idleMs: number; signal: AbortSignal },
): Promise<void> {
  const stop = () => {
    client.destroy();
    upstream.destroy();
  };
  const carry = (from: Socket, to: Socket) =>
    new Promise<void>((resolve) => {
      from.setTimeout(idleMs, stop);
      from.once('end', () => to.setTimeout(Math.min(idleMs, lastWordMs)));
      from.once('close', (hadError) => {
        // What was sent before an ordinary end still has to arrive.
        if (hadError || !to.writable) to.destroy();
        else to.destroySoon();
        resolve();
      });
      // An end of one direction is passed on as such, and slowness as well.
      from.pipe(to);
    });
  signal.addEventListener('abort', stop, { once: true });
  const both = Promise.all([carry(client, upstream), carry(upstream, client)]);
  if (signal.aborted || client.destroyed) stop();
  return both.then(() => signal.removeEventListener('abort', stop));
}
