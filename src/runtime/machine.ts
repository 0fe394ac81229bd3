import { availableParallelism, totalmem } from 'node:os';
import type { Machine } from './size.ts';

const MIB = 1_048_576;

/** What this process may use: less than the hardware has where the service itself runs in a container with limits. */
export function readMachine(): Machine {
  const total = totalmem();
  const constrained = process.constrainedMemory();
  const memory = constrained > 0 && constrained < total ? constrained : total;
  return { cpus: availableParallelism(), memoryMiB: Math.floor(memory / MIB) };
}
