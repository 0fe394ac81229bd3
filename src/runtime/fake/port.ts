import { type Duplex, duplexPair } from 'node:stream';

/** A connection to what listens on a port of a fake sandbox. */
export function openPort(ports: ReadonlyMap<number, (stream: Duplex) => void>, port: number): Duplex {
  const onConnection = ports.get(port);
  if (!onConnection) {
    throw Object.assign(new Error(`Nothing listens on port ${port}.`), { code: 'ECONNREFUSED' });
  }
  const [near, far] = linkedPair();
  onConnection(far);
  return near;
}

/** Two ends of a connection, of which one breaks off with the other. */
export function linkedPair(): [Duplex, Duplex] {
  const [near, far] = duplexPair();
  near.once('close', () => far.destroy());
  far.once('close', () => near.destroy());
  return [near, far];
}
