/** What git is told through its environment. Nothing of the service's own environment but `PATH` reaches git. */

export type GitCredential = {
  username: string;
  secret: string;
  /** Another one in place of this, which the host has refused; null when there is none. */
  renew?: () => Promise<GitCredential | null>;
};

export type GitSettings = [name: string, value: string][];

type EnvironmentOptions = {
  /** An empty folder, so that no `.netrc`, no `.gitconfig` and no key of the service's user is found. */
  home: string;
  /** git looks for a repository no further up than below this folder. */
  ceiling: string;
  path: string;
  settings: GitSettings;
  /** A configuration file instead of none; only the serving side of `file://` needs one. */
  globalConfig?: string;
  gitDir?: string;
};

export function gitEnvironment(options: EnvironmentOptions): Record<string, string> {
  const environment: Record<string, string> = {
    PATH: options.path,
    HOME: options.home,
    LC_ALL: 'C',
    GIT_TERMINAL_PROMPT: '0',
    GIT_ASKPASS: '',
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_CONFIG_GLOBAL: options.globalConfig ?? '/dev/null',
    GIT_ATTR_NOSYSTEM: '1',
    GIT_NO_LAZY_FETCH: '1',
    GIT_NO_REPLACE_OBJECTS: '1',
    GIT_OPTIONAL_LOCKS: '0',
    GIT_CEILING_DIRECTORIES: options.ceiling,
    // Settings in the environment are seen by git's own children and stand in no command line.
    GIT_CONFIG_COUNT: String(options.settings.length),
  };
  options.settings.forEach(([name, value], index) => {
    environment[`GIT_CONFIG_KEY_${index}`] = name;
    environment[`GIT_CONFIG_VALUE_${index}`] = value;
  });
  if (options.gitDir !== undefined) environment.GIT_DIR = options.gitDir;
  return environment;
}

/** Settings for work on a repository of the cache, without any remote. */
export const localSettings: GitSettings = [
  ['protocol.allow', 'never'],
  ['core.hooksPath', '/dev/null'],
  ['core.fsmonitor', 'false'],
  ['core.askPass', ''],
  ['credential.helper', ''],
  ['gc.auto', '0'],
  ['maintenance.auto', 'false'],
  ['pack.threads', '1'],
  // Larger objects are streamed instead of held in memory.
  ['core.bigFileThreshold', '16m'],
  ['core.packedGitWindowSize', '32m'],
  ['core.packedGitLimit', '512m'],
];

/** Settings for a conversation with one remote, which may send anything. */
export function remoteSettings(options: {
  url: URL;
  addresses: string[];
  /** The value of the Authorization header. */
  authorization: string | null;
}): GitSettings {
  const scheme = options.url.protocol.slice(0, -1);
  const settings: GitSettings = [
    ...localSettings,
    [`protocol.${scheme}.allow`, 'always'],
    ['protocol.version', '2'],
    ['transfer.bundleURI', 'false'],
    // A pack is kept as it came, so that a repository is a handful of files.
    ['transfer.unpackLimit', '1'],
    ['fetch.recurseSubmodules', 'false'],
    ['fetch.writeCommitGraph', 'false'],
    ['submodule.recurse', 'false'],
  ];
  if (scheme === 'file') return settings;
  settings.push(
    ['http.followRedirects', 'false'],
    ['http.proxy', ''],
    ['http.sslVerify', 'true'],
    ['http.lowSpeedLimit', '1000'],
    ['http.lowSpeedTime', '30'],
  );
  if (options.addresses.length > 0)
    settings.push(['http.curloptResolve', pinned(options.url, options.addresses)]);
  if (options.authorization !== null)
    settings.push(['http.extraHeader', `Authorization: ${options.authorization}`]);
  return settings;
}

/** The configuration file of the serving side of `file://`, which git starts without the settings above. */
export const fileServerConfig = [
  '[safe]',
  '\tdirectory = *',
  '[core]',
  '\tpackedGitWindowSize = 32m',
  '\tpackedGitLimit = 512m',
  '\tfsmonitor = false',
  '\thooksPath = /dev/null',
  '[pack]',
  '\tthreads = 1',
  '',
].join('\n');

/** One line for curl: connections to this host and port go to the checked addresses, whatever the resolver says. */
function pinned(url: URL, addresses: string[]): string {
  const port = url.port || (url.protocol === 'https:' ? '443' : '80');
  const list = addresses.map((address) => (address.includes(':') ? `[${address}]` : address)).join(',');
  return `${url.hostname}:${port}:${list}`;
}

export function basicAuthorization({ username, secret }: GitCredential): string {
  return `Basic ${Buffer.from(`${username}:${secret}`).toString('base64')}`;
}
