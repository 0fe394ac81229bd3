import {
  type Architecture,
  absentCalls,
  auditArchitecture,
  judgedCalls,
  refusedCalls,
  refusedEverywhere,
} from './syscalls.ts';

/**
 * The list of calls a sandbox cannot make, as a classic BPF program for `bwrap --seccomp`.
 *
 * It is a list of refusals: what a workspace runs is not known beforehand. The namespaces and the missing capabilities
 * already stop most of these; the filter keeps the kernel code behind them out of reach.
 */
export function seccompFilter(architecture: Architecture): Buffer {
  const calls = judgedCalls[architecture];
  const program: Instruction[] = [
    load(field.architecture),
    ...when(isNot(auditArchitecture[architecture]), [answer(action.kill)]),
    load(field.call),
  ];
  // The other numbering of x86-64 would go around every comparison below.
  if (architecture === 'x64') program.push(...when(isAtLeast(0x40000000), [answer(refuse(ENOSYS))]));
  for (const number of Object.values({ ...refusedCalls[architecture], ...refusedEverywhere }))
    program.push(...when(is(number), [answer(refuse(EPERM))]));
  for (const number of Object.values(absentCalls))
    program.push(...when(is(number), [answer(refuse(ENOSYS))]));
  program.push(
    ...when(is(calls.clone), [
      load(field.argument(0)),
      ...when(hasAny(namespaceFlags), [answer(refuse(EPERM))]),
      answer(action.allow),
    ]),
    ...when(is(calls.ioctl), [
      load(field.argument(1)),
      ...terminalInjections.flatMap((request) => when(is(request), [answer(refuse(EPERM))])),
      answer(action.allow),
    ]),
    ...[calls.socket, calls.socketpair].flatMap((number) =>
      when(is(number), [
        load(field.argument(0)),
        ...socketFamilies.flatMap((family) => when(is(family), [answer(action.allow)])),
        answer(refuse(EAFNOSUPPORT)),
      ]),
    ),
    answer(action.allow),
  );
  return Buffer.concat(program.map(encode));
}

const EPERM = 1;
const ENOSYS = 38;
const EAFNOSUPPORT = 97;

/** `CLONE_NEW*` as far as clone itself takes them. */
const namespaceFlags = 0x7e020000;

/** TIOCSTI and TIOCLINUX put words into the terminal of whoever is on its other end. */
const terminalInjections = [0x5412, 0x541c];

/**
 * Unix, IPv4, IPv6 and netlink belong to the network namespace. Others do not: a vsock reaches the machine around a
 * virtual machine from every namespace inside.
 */
const socketFamilies = [1, 2, 10, 16];

/** Offsets in `struct seccomp_data`; of an argument the lower half, which comes first on both machines. */
const field = { call: 0, architecture: 4, argument: (index: number) => 16 + 8 * index };

const action = { allow: 0x7fff0000, kill: 0x80000000 };
const refuse = (errno: number) => 0x00050000 | errno;

type Instruction = { code: number; onTrue: number; onFalse: number; value: number };
/** A jump past `length` instructions when the condition does not hold. */
type Condition = (length: number) => Instruction;

const load = (offset: number): Instruction => ({ code: 0x20, onTrue: 0, onFalse: 0, value: offset });
const answer = (value: number): Instruction => ({ code: 0x06, onTrue: 0, onFalse: 0, value });
const compare =
  (code: number, value: number): Condition =>
  (length) => ({ code, onTrue: 0, onFalse: length, value });
const is = (value: number) => compare(0x15, value);
const isAtLeast = (value: number) => compare(0x35, value);
const hasAny = (bits: number) => compare(0x45, bits);
const isNot =
  (value: number): Condition =>
  (length) => ({ code: 0x15, onTrue: length, onFalse: 0, value });

const when = (condition: Condition, then: Instruction[]): Instruction[] => [condition(then.length), ...then];

function encode({ code, onTrue, onFalse, value }: Instruction): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeUInt16LE(code, 0);
  bytes.writeUInt8(onTrue, 2);
  bytes.writeUInt8(onFalse, 3);
  bytes.writeUInt32LE(value >>> 0, 4);
  return bytes;
}
