import { connect, type LookupFunction, type Socket } from 'node:net';
import { AppError } from '../contract/error.ts';
import type { CheckedTarget } from './egress-check.ts';

type ConnectOptions = { timeoutMs: number; allowHalfOpen: boolean; signal: AbortSignal };

/** Connects to one of the checked addresses, whatever the name leads to by then. */
export async function connectToTarget(target: CheckedTarget, options: ConnectOptions): Promise<Socket> {
  const { timeoutMs, allowHalfOpen, signal } = options;
  signal.throwIfAborted();
  const socket = connect({
    host: target.host.replace(/^\[(.*)\]$/, '$1'),
    port: target.port,
    lookup: pinnedLookup(target.addresses),
    autoSelectFamily: true,
    autoSelectFamilyAttemptTimeout: 1_000,
    allowHalfOpen,
    noDelay: true,
  });
  const late = setTimeout(() => socket.destroy(new Error('the connection took too long')), timeoutMs);
  const onAbort = () => socket.destroy(signal.reason);
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    await new Promise<void>((resolve, reject) => {
      socket.once('connect', resolve).once('error', reject).once('close', reject);
    });
    return socket;
  } catch (error) {
    signal.throwIfAborted();
    const name = `${target.host}:${target.port}`;
    throw new AppError('upstream_unavailable', `${name} does not take the connection.`, null, error);
  } finally {
    clearTimeout(late);
    signal.removeEventListener('abort', onAbort);
    socket.removeAllListeners('error').removeAllListeners('close');
    // Without a listener the next error would end the process; who uses the socket also hears of its close.
    socket.on('error', () => socket.destroy());
  }
}

function pinnedLookup(addresses: string[]): LookupFunction {
  const found = addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }));
  return (_host, { all }, callback) => {
    const [first] = found;
    if (all) callback(null, found);
    else callback(null, first?.address ?? '', first?.family);
  };
}
