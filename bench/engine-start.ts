import { randomBytes, randomUUID } from 'node:crypto';
import type { Duplex } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { engineVariables } from '../src/engine/place.ts';
import { engineBundle } from '../src/runtime/engine-bundle.ts';
import { readMachine } from '../src/runtime/machine.ts';
import { limitsOf } from '../src/runtime/size.ts';
import { callEngine, EngineUnreachableError } from '../src/sandbox/engine-client.ts';

const WITHIN_MS = 60_000;

/** What an engine is started with where no service has asked for it. */
export function engineStart() {
  const id = randomUUID();
  const secret = `rs_engine_${randomBytes(32).toString('base64url')}`;
  return {
    id,
    secret,
    limits: limitsOf('small', readMachine()).limits,
    environment: {
      ...engineBundle().environment,
      [engineVariables.secret]: secret,
      [engineVariables.sandboxId]: id,
      [engineVariables.incarnation]: '1',
    },
  };
}

/** Asks an engine again and again until it answers. */
export async function untilEngineAnswers(
  connect: (signal: AbortSignal) => Promise<Duplex>,
  { secret, signal }: { secret: string; signal: AbortSignal },
): Promise<void> {
  const limit = AbortSignal.any([signal, AbortSignal.timeout(WITHIN_MS)]);
  for (;;) {
    try {
      const { status } = await callEngine({ connect, secret, signal: limit, method: 'GET', path: '/' });
      if (status !== 200) throw new Error(`the engine answered ${status}`);
      return;
    } catch (error) {
      limit.throwIfAborted();
      if (!(error instanceof EngineUnreachableError)) throw error;
      await delay(1, undefined, { signal: limit });
    }
  }
}
