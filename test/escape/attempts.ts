import { node, perl } from './inside.ts';

/** What somebody inside tries, and what the command says when it came to nothing. */
type Attempt = [what: string, command: string, nothing: RegExp];

/** Tries that need to know nothing of the host. They fail for a service of root and for one of an ordinary user alike. */
export const attempts: Attempt[] = [
  [
    'set what concerns more than its own namespaces below /proc/sys',
    `find /proc/sys -type f -writable 2>/dev/null | grep -vE '^/proc/sys/(fs/mqueue/|kernel/(shm|msg|sem$|auto_msgmni$|ns_last_pid$|pid_max$))'; echo none`,
    /^none\n$/,
  ],
  [
    'set the name of the machine, its core pattern or its memory',
    `for name in kernel/core_pattern kernel/hostname kernel/modprobe vm/overcommit_memory vm/drop_caches fs/file-max
       do (echo 1 >/proc/sys/$name) 2>/dev/null && echo "wrote $name"; done; hostname thief 2>/dev/null && echo named; echo none`,
    /^none\n$/,
  ],
  [
    'write to another file of the kernel',
    `find /proc -path '/proc/[0-9s]*' -prune -o -path /proc/thread-self -prune -o -type f -writable -print 2>/dev/null | grep -v '^/proc/pressure/'
     (echo b >/proc/sysrq-trigger) 2>/dev/null && echo pressed; echo none`,
    /^none\n$/,
  ],
  [
    'read the log of the kernel',
    'cat /proc/kmsg /dev/kmsg; dmesg; echo done',
    /^(.*(permit|denied|No such).*\n){3}done\n$/i,
  ],
  [
    'read the memory of the kernel',
    'head -c 1 /proc/kcore /dev/mem',
    /^(.*(No such file|denied|permitted).*\n){2}$/,
  ],
  [
    'write below /sys, or make a group and name a program that ends it',
    `find /sys | wc -l; mkdir /tmp/group; mount -t cgroup -o pids x /tmp/group; mount -t cgroup2 x /tmp/group; ls /tmp/group; find / -xdev -name release_agent 2>/dev/null`,
    /^1\n(mount: .*\n.*\n){2}$/,
  ],
  [
    'make a device, or find one that is more than a source of bytes',
    `cd /tmp; mknod null c 1 3; mknod disk b 254 0; mknod loop b 7 0; mknod mem c 1 1; mknod gap c 0 0; mknod fuse c 10 229; find / -xdev -type b; ls /dev/loop* /dev/mem /dev/vda /dev/fuse /dev/kvm 2>/dev/null; losetup -f 2>/dev/null
     for file in /dev/* /dev/*/*; do [ -L $file ] && continue; [ -b $file ] && echo "disk $file"; [ -c $file ] && echo $file; done | tr '\\n' ' '`,
    /^(mknod: .*Operation not permitted\n){6}\/dev\/full \/dev\/null \/dev\/random \/dev\/tty \/dev\/urandom \/dev\/zero (\/dev\/pts\/\S+ )*$/,
  ],
  [
    'mount, leave its root, or enter or make a namespace',
    `for command in 'mount -t tmpfs x /mnt' 'mount --bind / /mnt' 'umount /usr' 'umount -l /proc' 'chroot / true' 'unshare -m true' 'unshare -U true' 'unshare -n true' 'nsenter -t 1 -m true'
       do $command 2>/dev/null && echo "$command"; done; echo none`,
    /^none\n$/,
  ],
  [
    // Where the service is not root's, there is nobody else inside to become.
    'gain rights by a program that is set to another user',
    `cp /bin/bash /tmp/rights; chmod 6755 /tmp/rights; grep NoNewPrivs /proc/self/status | tr -d '\\t'
     ${perl(`$( = $) = 65534; $< = $> = 65534; if ($> == 0) { print "alone\\n"; exit } exec '/tmp/rights', '-p', '-c', 'id -u; su -c id </dev/null; mount -t tmpfs x /mnt; passwd -d root; echo end'`)}`,
    /^NoNewPrivs:1\n(alone\n$|65534\n(?!.*uid=0)(?=.*end\n$))/s,
  ],
  [
    'take a capability that it was not given',
    `grep -hE '^Cap(Eff|Prm|Bnd)' /proc/self/status | tr -d '\\t'; grep -E '^Cap(Eff|Prm)|^Seccomp:' /proc/1/status | tr -d '\\t'; setcap cap_sys_admin+ep /tmp/rights 2>&1 | head -1`,
    /^(Cap(Prm|Eff|Bnd):00000000000000fb\n){3}(Cap(Prm|Eff):0{16}\n){2}Seccomp:2\n/,
  ],
  [
    'leave a core behind',
    `cd /tmp; ulimit -c unlimited; bash -c 'kill -SEGV $$'; ls | grep -c core; ulimit -Hc`,
    /\n0\n0\n$/,
  ],
  [
    'make a file that cannot be removed',
    `cd /tmp; touch kept; chattr +i kept; chattr +a kept; rm kept && echo removed`,
    /removed\n$/,
  ],
  [
    'see a process that is not its own',
    'ls /proc | grep -c "^[0-9]"; cat /proc/[0-9]*/comm | sort -u',
    /^\d{1,2}\n((bwrap|node|MainThread|bash|sh|ls|grep|cat|sort|sleep)\n)+$/,
  ],
  [
    'end the first process of its sandbox',
    'kill -KILL 1; kill -STOP 1; kill -TERM 1; kill -QUIT 1; grep ^State /proc/1/status',
    /^State:\s+S/,
  ],
  [
    'find anything open that was not handed to it',
    `for link in /proc/self/fd/* /proc/$$/fd/*; do readlink $link; done | grep -vE '^(/dev/null|(socket|pipe|anon_inode):.*|/proc/.*)$'; echo none`,
    /^none\n$/,
  ],
  [
    'see another network than its own loopback',
    `tail -n +3 /proc/net/dev | cut -d: -f1 | tr -d ' '; ${node(`
      const { connect } = require('node:net');
      const targets = [[80, '169.254.169.254'], [53, '8.8.8.8'], [443, '1.1.1.1'], [80, 'fd00:ec2::254'], [22, '10.0.0.1'], [80, '192.168.1.1']];
      for (const [port, host] of targets) connect({ port, host, timeout: 2_000 })
        .on('error', (error) => console.log(error.code)).on('connect', () => console.log('connected')).on('timeout', () => console.log('silence'));`)}`,
    /^lo\n((ENETUNREACH|EADDRNOTAVAIL|EAFNOSUPPORT)\n){6}$/,
  ],
  [
    'speak to the kernel or the machine around it through another kind of socket',
    // Bluetooth, packets, the crypto of the kernel, the host of a virtual machine, fast packets, raw IP.
    perl(
      `my $socket = \`uname -m\` =~ /aarch64/ ? 198 : 41; for ([31,1,0],[17,3,0],[38,5,0],[40,1,0],[44,3,0],[2,3,1],[10,3,58]) { print syscall($socket, @$_), "\\n" }`,
    ),
    /^(-1\n){7}$/,
  ],
  [
    'put words into a terminal that somebody else reads',
    perl(`
      open(my $master, '+<', '/dev/ptmx') or die; my ($number, $unlock) = (pack('i', 0), pack('i', 0)); ioctl($master, 0x40045431, $unlock); ioctl($master, 0x80045430, $number);
      open(my $terminal, '+<', '/dev/pts/' . unpack('i', $number)) or die;
      for my $request (0x5412, 0x541c, 0x100005412) { my $word = 'x'; print ioctl($terminal, $request, $word) ? 'put' : $! + 0, "\\n" }`),
    /^(1\n){3}$/,
  ],
  [
    'touch the folder of the gateway',
    `cd /run/replica; touch x; rm -f gateway.sock; mv gateway.sock old; chmod 777 .; ln -s /tmp/own.sock other; echo "$(ls)"`,
    /^(.*(Read-only|not permitted|Permission denied).*\n){5}gateway\.sock\n$/,
  ],
  [
    'change the programs that it was given',
    `for file in /usr/bin/env /opt/replica/node /opt/replica/engine.mjs /etc/ld.so.cache; do (: >>$file) && echo "wrote $file"; rm -f $file && echo "removed $file"; done 2>&1 | grep -E 'wrote|removed'; echo none`,
    /^none\n$/,
  ],
];
