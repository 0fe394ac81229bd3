import type { SandboxLimits } from './driver.ts';

export type Size = 'small' | 'large';
export type Machine = { cpus: number; memoryMiB: number };

/** What a size promises on a machine that is large enough. */
export const sizes: Record<Size, SandboxLimits> = {
  small: { cpus: 2, memoryMiB: 8192, diskMiB: 20_480, processes: 4096 },
  large: { cpus: 4, memoryMiB: 16_384, diskMiB: 32_768, processes: 8192 },
};

/** A sandbox that fills its memory must not take the service and the database on the same machine with it. */
const MEMORY_SHARE = 0.75;
/** Below this neither the engine nor a package manager comes up. */
const LEAST_MEMORY_MIB = 256;

/** What a sandbox of this size gets on this machine, and a sentence for each promise that the machine cannot keep. */
export function limitsOf(size: Size, machine: Machine): { limits: SandboxLimits; scaled: string[] } {
  const promised = sizes[size];
  const cpus = Math.max(1, Math.min(promised.cpus, Math.floor(machine.cpus)));
  const spared = Math.max(LEAST_MEMORY_MIB, Math.floor(machine.memoryMiB * MEMORY_SHARE));
  const memoryMiB = Math.min(promised.memoryMiB, spared);
  const scaled: string[] = [];
  if (cpus < promised.cpus) {
    scaled.push(`${cpus} instead of ${promised.cpus} vCPU, because the machine has ${machine.cpus}`);
  }
  if (memoryMiB < promised.memoryMiB) {
    const has = `the machine has ${machine.memoryMiB} MiB, of which a quarter is left to the service`;
    scaled.push(`${memoryMiB} instead of ${promised.memoryMiB} MiB of memory, because ${has}`);
  }
  return { limits: { ...promised, cpus, memoryMiB }, scaled };
}
