import { request } from 'node:http';
import type { Duplex } from 'node:stream';

/**
 * Asks the engine at the other end of a connection to lead it on to a port of the sandbox's loopback. The connection
 * itself is what comes back; it is closed when the engine refuses.
 */
export function openTunnel(
  connection: Duplex,
  { port, secret, signal }: { port: number; secret: string; signal: AbortSignal },
): Promise<Duplex> {
  return new Promise((resolve, reject) => {
    const asked = request({
      method: 'POST',
      path: `/tunnel/${port}`,
      host: 'engine',
      headers: { connection: 'Upgrade', upgrade: 'tcp', authorization: `Bearer ${secret}` },
      createConnection: () => connection,
    });
    const fail = (error: Error) => {
      signal.removeEventListener('abort', stop);
      connection.destroy();
      reject(error);
    };
    const stop = () => fail(signal.reason);
    if (signal.aborted) return stop();
    signal.addEventListener('abort', stop, { once: true });
    asked.on('error', (cause) =>
      fail(new Error(`The port ${port} of the sandbox cannot be reached.`, { cause })),
    );
    asked.once('response', ({ statusCode }) => {
      fail(
        new Error(
          `The engine does not lead on to the port ${port} of the sandbox: it answered ${statusCode}.`,
        ),
      );
    });
    asked.once('upgrade', (_answer, stream: Duplex, head: Buffer) => {
      signal.removeEventListener('abort', stop);
      // What the port has said by now came with the answer.
      if (head.length > 0) stream.unshift(head);
      resolve(stream);
    });
    asked.end();
  });
}
