import { connect, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';

/**
 * Joins a connection of the control plane with a port of the workspace. Programs listen on IPv4, on IPv6 or on both, so
 * both are tried. An end of one direction is passed on and leaves the other open.
 */
export function openTunnel(socket: Duplex, head: Buffer, port: number): void {
  socket.on('error', () => {});
  dial(socket, { port, hosts: ['127.0.0.1', '::1'] }).then(
    (target) => {
      socket.write('HTTP/1.1 101 Switching Protocols\r\nconnection: Upgrade\r\nupgrade: tcp\r\n\r\n');
      if (head.length > 0) target.write(head);
      pass({ from: socket, to: target, onBreak: () => target.resetAndDestroy() });
      pass({ from: target, to: socket, onBreak: () => socket.destroy() });
    },
    () => refuse(socket, port),
  );
}

async function dial(client: Duplex, { port, hosts }: { port: number; hosts: string[] }): Promise<Socket> {
  let failure: unknown;
  for (const host of hosts) {
    try {
      return await dialOne(client, { port, host });
    } catch (error) {
      failure = error;
    }
  }
  throw failure;
}

function dialOne(client: Duplex, { port, host }: { port: number; host: string }): Promise<Socket> {
  const target = connect({ port, host, allowHalfOpen: true, noDelay: true });
  const giveUp = () => target.destroy(new Error('given up'));
  const timer = setTimeout(giveUp, dialMs);
  client.once('close', giveUp);
  return new Promise<Socket>((resolve, reject) => {
    if (client.destroyed) giveUp();
    target.once('error', reject);
    target.once('connect', () => resolve(target));
  }).finally(() => {
    clearTimeout(timer);
    client.off('close', giveUp);
  });
}

const dialMs = 5_000;

/** One direction. A side that breaks off breaks the other, so that half an answer does not look like a whole one. */
function pass({ from, to, onBreak }: { from: Duplex; to: Duplex; onBreak: () => void }): void {
  from.pipe(to);
  from.on('error', () => {});
  from.on('close', () => {
    if (from.errored || !from.readableEnded) onBreak();
  });
}

function refuse(socket: Duplex, port: number): void {
  if (socket.destroyed) return;
  const body = JSON.stringify({ error: `Nothing listens on port ${port} of the workspace.` });
  const headers = [
    'HTTP/1.1 502 Bad Gateway',
    'content-type: application/json',
    `content-length: ${Buffer.byteLength(body)}`,
    'connection: close',
  ];
  socket.end(`${headers.join('\r\n')}\r\n\r\n${body}`);
}
