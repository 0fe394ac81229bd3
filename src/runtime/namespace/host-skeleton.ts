import path from 'node:path';
import { place } from '../../engine/place.ts';

/** What the host has that a sandbox on its programs needs. */
export type HostSystem = {
  /** What each top-level name with programs is: a link into /usr on most systems, a folder of its own on others. */
  programs: Readonly<Record<string, { link: string } | 'folder'>>;
  /** Paths below `/etc` that are shown. */
  configuration: readonly string[];
};

export type SkeletonEntry =
  | { path: string; kind: 'folder'; mode: number }
  | { path: string; kind: 'file'; mode: number; text: string }
  | { path: string; kind: 'link'; target: string };

/** The names below `/` that hold programs and libraries, where a system has them. */
export const programFolders = ['bin', 'sbin', 'lib', 'lib32', 'lib64', 'libx32'] as const;

/**
 * The root that a sandbox on the host's programs starts from: everything but the programs themselves, which are
 * mounted read-only over it.
 */
export function hostSkeleton({ programs, configuration }: HostSystem): SkeletonEntry[] {
  return [
    ...Object.entries(programs).map(
      ([name, what]): SkeletonEntry => (what === 'folder' ? folder(name) : link(name, what.link)),
    ),
    ...['usr', 'proc', 'dev', 'sys', 'run', 'mnt', 'srv', 'home', 'opt', 'etc'].map((name) => folder(name)),
    folder('root', 0o700),
    folder('tmp', 0o1777),
    ...['var', 'var/cache', 'var/lib', 'var/local', 'var/log', 'var/mail', 'var/spool'].map((name) =>
      folder(name),
    ),
    folder('var/tmp', 0o1777),
    link('var/run', '/run'),
    link('var/lock', '/run/lock'),
    folder(place.home.slice(1)),
    folder(path.dirname(place.node).slice(1)),
    file(place.node.slice(1), '', 0o755),
    file(place.engineBundle.slice(1), ''),
    folder(place.compileCache.slice(1)),
    ...foldersAbove(configuration),
    ...Object.entries(ownConfiguration).map(([name, text]) => file(`etc/${name}`, text)),
    link('etc/mtab', '../proc/self/mounts'),
    link('etc/os-release', '../usr/lib/os-release'),
  ];
}

/** Nothing of the host's own configuration is seen inside but what programs cannot do without. */
const ownConfiguration: Record<string, string> = {
  passwd: `root:x:0:0:root:${place.home}:/bin/bash
daemon:x:1:1:daemon:/usr/sbin:/usr/sbin/nologin
www-data:x:33:33:www-data:/var/www:/usr/sbin/nologin
nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin
`,
  group: `root:x:0:
daemon:x:1:
tty:x:5:
www-data:x:33:
staff:x:50:
users:x:100:
nogroup:x:65534:
`,
  shadow:
    'root:*:19000:0:99999:7:::\ndaemon:*:19000:0:99999:7:::\nwww-data:*:19000:0:99999:7:::\nnobody:*:19000:0:99999:7:::\n',
  hostname: 'replica\n',
  hosts: '127.0.0.1 localhost replica\n::1 localhost ip6-localhost ip6-loopback\n',
  'nsswitch.conf':
    'passwd: files\ngroup: files\nshadow: files\nhosts: files dns\nservices: files\nprotocols: files\n',
  // The gateway is the only way out, and it looks names up itself.
  'resolv.conf': '',
  // Files of a layer may belong to another user than the one who runs git.
  gitconfig: '[safe]\n\tdirectory = *\n',
  shells: '/bin/sh\n/bin/bash\n',
};

/**
 * Whether a path below the host's `/etc` is shown inside: what says where libraries, certificates and fonts are, and what
 * interpreters look for at their start. Nothing in which an operator would write down a password.
 */
export function isSharedConfiguration(path: string): boolean {
  return sharedPatterns.some((pattern) => pattern.test(path));
}

const sharedPatterns = [
  /^\/etc\/(alternatives|ld\.so\.(cache|conf|conf\.d)|crypto-policies|debian_version)$/,
  /^\/etc\/(fonts|glvnd|gtk-[\d.]+|xdg|inputrc|terminfo|magic|magic\.mime|mime\.types|services|protocols)$/,
  /^\/etc\/(ssl\/certs|ssl\/openssl\.cnf|pki\/tls\/certs|pki\/ca-trust|pki\/java)$/,
  /^\/etc\/(pam\.d|security|login\.defs)$/,
  /^\/etc\/(chromium(\.d)?|ImageMagick-\d+|java-[\w.-]+|perl|python[\d.]*)$/,
];

/** The folders below `/etc` in which something is shown. */
function foldersAbove(paths: readonly string[]): SkeletonEntry[] {
  const parents = paths.flatMap((shown) => {
    const parts = path.dirname(shown).split('/').slice(2);
    return parts.map((_part, index) => ['etc', ...parts.slice(0, index + 1)].join('/'));
  });
  return [...new Set(parents)].map((name) => folder(name));
}

const folder = (path: string, mode = 0o755): SkeletonEntry => ({ path, kind: 'folder', mode });
const link = (path: string, target: string): SkeletonEntry => ({ path, kind: 'link', target });
const file = (path: string, text: string, mode = 0o644): SkeletonEntry => ({
  path,
  kind: 'file',
  mode,
  text,
});
