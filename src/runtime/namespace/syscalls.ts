/** Machines a filter can be made for, by Node's names for them. */
export type Architecture = 'x64' | 'arm64';

/** The kernel's names for the machines (`AUDIT_ARCH_*`), as a filter sees them. */
export const auditArchitecture: Record<Architecture, number> = { x64: 0xc000003e, arm64: 0xc00000b7 };

type Numbers = Record<string, number>;

/** Calls that are refused whatever their arguments are, by what they would reach. */
export const refusedCalls: Record<Architecture, Numbers> = {
  x64: {
    mount: 165,
    umount2: 166,
    pivot_root: 155,
    setns: 308,
    unshare: 272,
    add_key: 248,
    request_key: 249,
    keyctl: 250,
    bpf: 321,
    perf_event_open: 298,
    userfaultfd: 323,
    kexec_load: 246,
    kexec_file_load: 320,
    create_module: 174,
    init_module: 175,
    delete_module: 176,
    get_kernel_syms: 177,
    query_module: 178,
    finit_module: 313,
    open_by_handle_at: 304,
    swapon: 167,
    swapoff: 168,
    reboot: 169,
    quotactl: 179,
    acct: 163,
    settimeofday: 164,
    clock_settime: 227,
    clock_adjtime: 305,
    adjtimex: 159,
    syslog: 103,
    vhangup: 153,
    lookup_dcookie: 212,
    nfsservctl: 180,
    uselib: 134,
    ustat: 136,
    sysfs: 139,
    _sysctl: 156,
    iopl: 172,
    ioperm: 173,
  },
  arm64: {
    mount: 40,
    umount2: 39,
    pivot_root: 41,
    setns: 268,
    unshare: 97,
    add_key: 217,
    request_key: 218,
    keyctl: 219,
    bpf: 280,
    perf_event_open: 241,
    userfaultfd: 282,
    kexec_load: 104,
    kexec_file_load: 294,
    init_module: 105,
    delete_module: 106,
    finit_module: 273,
    open_by_handle_at: 265,
    swapon: 224,
    swapoff: 225,
    reboot: 142,
    quotactl: 60,
    acct: 89,
    settimeofday: 170,
    clock_settime: 112,
    clock_adjtime: 266,
    adjtimex: 171,
    syslog: 116,
    vhangup: 58,
    lookup_dcookie: 18,
    nfsservctl: 42,
  },
};

/** Newer calls have one number on all machines. */
export const refusedEverywhere: Numbers = {
  open_tree: 428,
  move_mount: 429,
  fsopen: 430,
  fsconfig: 431,
  fsmount: 432,
  fspick: 433,
  mount_setattr: 442,
  quotactl_fd: 443,
  open_tree_attr: 467,
};

/**
 * Calls that do not seem to exist, so that a program falls back to an older one: the flags of clone3 stand behind a
 * pointer that a filter cannot follow, and io_uring would do refused calls under another name.
 */
export const absentCalls: Numbers = {
  io_uring_setup: 425,
  io_uring_enter: 426,
  io_uring_register: 427,
  clone3: 435,
};

/** Calls that are refused for some arguments only. */
export const judgedCalls: Record<
  Architecture,
  { clone: number; ioctl: number; socket: number; socketpair: number }
> = {
  x64: { clone: 56, ioctl: 16, socket: 41, socketpair: 53 },
  arm64: { clone: 220, ioctl: 29, socket: 198, socketpair: 199 },
};
