/** Serves on every address of this machine, and says what the gateway makes of a sandbox that wants to reach one of them. */
import { createServer } from 'node:net';
import { AppError } from '../../src/contract/error.ts';
import { createEgressCheck } from '../../src/gateway/egress-check.ts';
import { connectToTarget } from '../../src/gateway/egress-connect.ts';

const [host = ''] = process.argv.slice(2);
const port = 9_000;
const signal = AbortSignal.timeout(5_000);
const identity = {
  sandboxId: 'x',
  organizationId: 'x',
  environmentId: null,
  replicaId: null,
  incarnation: 1,
};
const check = createEgressCheck({
  policyOf: async () => ({ mode: 'open', hosts: [] }),
  record: () => {},
  allowPrivateTargets: false,
});

const server = createServer((socket) => socket.end());
await new Promise<void>((resolve) => server.listen(port, resolve));
try {
  const target = await check({ identity, target: { host, port }, signal });
  const socket = await connectToTarget(target, { timeoutMs: 2_000, allowHalfOpen: false, signal });
  socket.destroy();
  process.stdout.write('connected\n');
} catch (error) {
  process.stdout.write(`${error instanceof AppError ? error.code : String(error)}\n`);
} finally {
  server.close();
}
