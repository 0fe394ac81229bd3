import { perl } from './inside.ts';

/** A system call, its numbers on x86-64 and on arm64, and harmless arguments as Perl writes them. */
type Call = [name: string, x64: number, arm64: number, args: string];

/**
 * Calls that a sandbox has no business with. Where one were let through, its arguments change nothing on the machine, or
 * nothing but what the caller's own namespaces hold.
 */
const calls: Call[] = [
  ['mount', 165, 40, `'x', '/mnt', 'tmpfs', 0, ''`],
  ['umount2', 166, 39, `'/usr', 2`],
  ['pivot_root', 155, 41, `'/', '/mnt'`],
  ['chroot', 161, 51, `'/'`],
  ['unshare', 272, 97, '0x10000000'],
  ['unshare of mounts', 272, 97, '0x00020000'],
  ['setns', 308, 268, '0, 0'],
  ['clone into a user namespace', 56, 220, '0x10000000 | 17, 0, 0, 0, 0'],
  ['clone into a network namespace', 56, 220, '0x40000000 | 17, 0, 0, 0, 0'],
  ['clone3', 435, 435, '$zeros, 88'],
  ['open_tree', 428, 428, `-100, '/', 1`],
  ['move_mount', 429, 429, `-100, '/', -100, '/mnt', 0`],
  ['fsopen', 430, 430, `'tmpfs', 0`],
  ['fsconfig', 431, 431, '0, 0, 0, 0, 0'],
  ['fsmount', 432, 432, '0, 0, 0'],
  ['fspick', 433, 433, `-100, '/', 0`],
  ['mount_setattr', 442, 442, `-100, '/', 0, $zeros, 32`],
  ['open_by_handle_at', 304, 265, '0, $zeros, 0'],
  ['mknod of a disk', 259, 33, `-100, '/tmp/raw-disk', 0060600, 0xfe00`],
  ['keyctl', 250, 219, '0, -3, 0'],
  ['add_key', 248, 217, `'user', 'x', 'y', 1, -3`],
  ['request_key', 249, 218, `'user', 'x', 0, -3`],
  ['bpf', 321, 280, '0, $zeros, 72'],
  ['perf_event_open', 298, 241, '$zeros, 0, -1, -1, 0'],
  ['io_uring_setup', 425, 425, '8, $zeros'],
  ['io_uring_enter', 426, 426, '0, 0, 0, 0, 0, 0'],
  ['io_uring_register', 427, 427, '0, 0, 0, 0'],
  ['userfaultfd', 323, 282, '0'],
  ['fanotify_init', 300, 262, '0, 0'],
  ['kexec_load', 246, 104, '0, 0, 0, 0'],
  ['kexec_file_load', 320, 294, '-1, -1, 0, 0, 0'],
  ['init_module', 175, 105, `$zeros, 1, ''`],
  ['finit_module', 313, 273, `-1, '', 0`],
  ['delete_module', 176, 106, `'none', 0`],
  ['swapon', 167, 224, `'/tmp/none', 0`],
  ['swapoff', 168, 225, `'/tmp/none'`],
  ['reboot', 169, 142, '0xfee1dead, 672274793, 0, 0'],
  ['sethostname', 170, 161, `'thief', 5`],
  ['setdomainname', 171, 162, `'thief', 5`],
  ['settimeofday', 164, 170, `pack('qq', time, 0), 0`],
  ['clock_settime', 227, 112, `0, pack('qq', time, 0)`],
  ['clock_adjtime', 305, 266, '0, $zeros'],
  ['adjtimex', 159, 171, '$zeros'],
  ['syslog', 103, 116, '10, 0, 0'],
  ['acct', 163, 89, `'/tmp/acct'`],
  ['quotactl', 179, 60, `0x80000700, '/dev/vda', 0, $zeros`],
  ['vhangup', 153, 58, ''],
  ['lookup_dcookie', 212, 18, '0, 0, 0'],
  ['a real-time schedule', 144, 119, `0, 1, pack('i', 10)`],
  ['a higher priority', 141, 140, '0, 0, -20'],
];

/** Calls that only the machine of x86-64 has: ports, and the same calls once more under other numbers. */
const x64Calls: [name: string, number: number, args: string][] = [
  ['iopl', 172, '3'],
  ['ioperm', 173, '0, 1, 1'],
  ['mount of the other numbering', 0x40000000 + 165, `'x', '/mnt', 'tmpfs', 0, ''`],
  ['unshare of the other numbering', 0x40000000 + 272, '0x10000000'],
];

export const callNames = [
  ...calls.map(([name]) => name),
  ...(process.arch === 'x64' ? x64Calls.map(([name]) => name) : []),
];

/** Tries all of them, and says each that was let through. */
export function tryRawCalls(): string {
  const own = process.arch === 'x64';
  const tried = [
    ...calls.map(([name, x64, arm64, args]) => ({ name, number: own ? x64 : arm64, args })),
    ...(own ? x64Calls.map(([name, number, args]) => ({ name, number, args })) : []),
  ];
  const lines = tried.map(
    ({ name, number, args }) =>
      `attempt('${name}', ${[number, args].filter((part) => part !== '').join(', ')});`,
  );
  return perl(`
    use strict; my $zeros = "\\0" x 256; my $count = 0;
    sub attempt {
      my ($name, $number, @args) = @_;
      my $parent = $$; my $answer = syscall($number, @args); my $error = $! + 0;
      # A call that makes a process returns twice.
      exit if $answer == 0 && getppid() == $parent;
      $count++;
      # Not permitted, access denied, no such call.
      print "$name: $answer $error\\n" unless $answer == -1 && ($error == 1 || $error == 13 || $error == 38);
    }
    ${lines.join('\n')}
    print "$count tried\\n";`);
}
