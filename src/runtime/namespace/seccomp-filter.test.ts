import { describe, expect, test } from 'vitest';
import { seccompFilter } from './seccomp-filter.ts';

const x64 = 0xc000003e;
const arm64 = 0xc00000b7;
const allowed = 'allowed';
const refused = 'errno 1';
const absent = 'errno 38';

type Call = { number: number; args?: number[]; machine?: number };

describe('on x64', () => {
  test.each<[string, Call, string]>([
    ['read', { number: 0 }, allowed],
    ['openat', { number: 257 }, allowed],
    ['execve', { number: 59 }, allowed],
    ['ptrace', { number: 101 }, allowed],
    ['mount', { number: 165 }, refused],
    ['unshare', { number: 272 }, refused],
    ['setns', { number: 308 }, refused],
    ['keyctl', { number: 250 }, refused],
    ['bpf', { number: 321 }, refused],
    ['fsopen', { number: 430 }, refused],
    ['a thread by clone', { number: 56, args: [0x3d0f00] }, allowed],
    ['a child by clone', { number: 56, args: [0x1200011] }, allowed],
    ['a user namespace by clone', { number: 56, args: [0x10000011] }, refused],
    ['a mount namespace by clone', { number: 56, args: [0x00020011] }, refused],
    ['clone3', { number: 435 }, absent],
    ['io_uring_setup', { number: 425 }, absent],
    ['TIOCGWINSZ', { number: 16, args: [0, 0x5413] }, allowed],
    ['TIOCSTI', { number: 16, args: [0, 0x5412] }, refused],
    ['a unix socket', { number: 41, args: [1] }, allowed],
    ['an IPv4 socket', { number: 41, args: [2] }, allowed],
    ['a netlink socket', { number: 41, args: [16] }, allowed],
    ['a vsock', { number: 41, args: [40] }, 'errno 97'],
    ['an AF_ALG socket', { number: 41, args: [38] }, 'errno 97'],
    ['a pair of unix sockets', { number: 53, args: [1] }, allowed],
    ['mount in x32 numbering', { number: 0x40000000 + 165 }, absent],
    ['read as a 32-bit program', { number: 3, machine: 0x40000003 }, 'killed'],
  ])('%s', (_name, call, outcome) => {
    expect(run(seccompFilter('x64'), { machine: x64, ...call })).toBe(outcome);
  });
});

describe('on arm64', () => {
  test.each<[string, Call, string]>([
    ['read', { number: 63 }, allowed],
    ['openat', { number: 56 }, allowed],
    ['execve', { number: 221 }, allowed],
    ['mount', { number: 40 }, refused],
    ['unshare', { number: 97 }, refused],
    ['userfaultfd', { number: 282 }, refused],
    ['mount_setattr', { number: 442 }, refused],
    ['a child by clone', { number: 220, args: [0x1200011] }, allowed],
    ['a network namespace by clone', { number: 220, args: [0x40000011] }, refused],
    ['clone3', { number: 435 }, absent],
    ['TIOCLINUX', { number: 29, args: [0, 0x541c] }, refused],
    ['an IPv6 socket', { number: 198, args: [10] }, allowed],
    ['a vsock', { number: 198, args: [40] }, 'errno 97'],
    ['mount with the number of x64', { number: 165, machine: x64 }, 'killed'],
  ])('%s', (_name, call, outcome) => {
    expect(run(seccompFilter('arm64'), { machine: arm64, ...call })).toBe(outcome);
  });
});

test('the program is as short as the kernel allows', () => {
  for (const machine of ['x64', 'arm64'] as const)
    expect(seccompFilter(machine).length / 8).toBeLessThanOrEqual(4096);
});

/** What the kernel would do with one call: the few instructions the filter is made of, one after the other. */
function run(program: Buffer, { number, args = [], machine = 0 }: Call): string {
  const data = Buffer.alloc(64);
  data.writeUInt32LE(number, 0);
  data.writeUInt32LE(machine, 4);
  args.forEach((value, index) => {
    data.writeUInt32LE(value, 16 + 8 * index);
  });
  let accumulator = 0;
  for (let at = 0; at < program.length / 8; at += 1) {
    const code = program.readUInt16LE(at * 8);
    const value = program.readUInt32LE(at * 8 + 4);
    const jump = (holds: boolean) => program.readUInt8(at * 8 + (holds ? 2 : 3));
    if (code === 0x20) accumulator = data.readUInt32LE(value);
    else if (code === 0x15) at += jump(accumulator === value);
    else if (code === 0x35) at += jump(accumulator >= value);
    else if (code === 0x45) at += jump((accumulator & value) !== 0);
    else if (code === 0x06) return describeAnswer(value);
    else throw new Error(`instruction ${code} is not one of ours`);
  }
  throw new Error('the program has no end');
}

function describeAnswer(value: number): string {
  if (value === 0x7fff0000) return allowed;
  if (value === 0x80000000) return 'killed';
  return `errno ${value & 0xffff}`;
}
