import { describe, expect, test } from 'vitest';
import { limitsOf, type Machine, type Size } from './size.ts';

const cases: [Size, Machine, { cpus: number; memoryMiB: number }, RegExp[]][] = [
  ['small', { cpus: 64, memoryMiB: 262_144 }, { cpus: 2, memoryMiB: 8192 }, []],
  ['large', { cpus: 64, memoryMiB: 262_144 }, { cpus: 4, memoryMiB: 16_384 }, []],
  ['large', { cpus: 4, memoryMiB: 21_846 }, { cpus: 4, memoryMiB: 16_384 }, []],
  ['large', { cpus: 2, memoryMiB: 24_000 }, { cpus: 2, memoryMiB: 16_384 }, [/^2 instead of 4 vCPU/]],
  ['small', { cpus: 2, memoryMiB: 8000 }, { cpus: 2, memoryMiB: 6000 }, [/^6000 instead of 8192 MiB/]],
  ['small', { cpus: 1, memoryMiB: 2048 }, { cpus: 1, memoryMiB: 1536 }, [/vCPU/, /machine has 2048 MiB/]],
  ['large', { cpus: 1.5, memoryMiB: 100 }, { cpus: 1, memoryMiB: 256 }, [/vCPU/, /memory/]],
];

describe('limitsOf', () => {
  test.each(cases)('%s on %j is %j', (size, machine, expected, sentences) => {
    const { limits, scaled } = limitsOf(size, machine);
    expect(limits).toMatchObject(expected);
    expect(scaled).toHaveLength(sentences.length);
    for (const [index, sentence] of sentences.entries()) expect(scaled[index]).toMatch(sentence);
  });

  test.each([
    ['small', { diskMiB: 20_480, processes: 4096 }],
    ['large', { diskMiB: 32_768, processes: 8192 }],
  ] as const)('%s keeps the disk and the processes that it promises', (size, expected) => {
    expect(limitsOf(size, { cpus: 1, memoryMiB: 1024 }).limits).toMatchObject(expected);
  });
});
