import { existsSync, readdirSync, readFileSync } from 'node:fs';

/**
 * Descriptors above the standard ones that a child of this process would find open: what whoever started the service has
 * left open in it. Node itself opens nothing that way.
 */
export function listInheritable(): number[] {
  if (!existsSync('/proc/self/fd')) return [];
  return readdirSync('/proc/self/fd')
    .map(Number)
    .filter((descriptor) => descriptor > 2 && isInheritable(readInfo(descriptor)));
}

/** By the flags in `/proc/self/fdinfo`, which are octal. */
export function isInheritable(info: string): boolean {
  const flags = /^flags:\s*([0-7]+)$/m.exec(info)?.[1];
  return flags !== undefined && (Number.parseInt(flags, 8) & closeOnExec) === 0;
}

const closeOnExec = 0o2000000;

function readInfo(descriptor: number): string {
  try {
    return readFileSync(`/proc/self/fdinfo/${descriptor}`, 'utf8');
  } catch {
    // The one that the listing itself was read through is closed by now.
    return '';
  }
}
