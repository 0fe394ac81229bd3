import path from 'node:path';
import { gitVariables } from './gateway-git.ts';
import type { BootRepository } from './protocol.ts';

const LOOPBACK = 'localhost,127.0.0.1,::1';
const DEFAULT_PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';
/** The kernel starts no program with a longer variable, `=` and the end of it included. */
const MAX_VARIABLE_BYTES = 131_000;
/** The kernel takes two megabytes for arguments and environment together; half of it is left to the arguments. */
const MAX_TOTAL_BYTES = 1_048_576;

export type EnvironmentSource = {
  home: string;
  /** ~/.replica */
  folder: string;
  secret: string;
  sandboxId: string;
  gatewayPort: number;
  userName: string;
  /** The search path of the engine's own process. */
  searchPath: string | undefined;
};

/**
 * The environment of every process that works for the user. The workspace's variables come before what the engine
 * suggests and after what would break the workspace if it were different.
 */
export function composeEnvironment(
  source: EnvironmentSource,
  workspace: { variables: Readonly<Record<string, string>>; repositories: readonly BootRepository[] },
): Record<string, string> {
  const { home, secret, sandboxId, gatewayPort, userName } = source;
  const gateway = `127.0.0.1:${gatewayPort}`;
  const proxy = `http://replica:${encodeURIComponent(secret)}@${gateway}`;
  const { NO_PROXY, no_proxy } = workspace.variables;
  // The proxy leads nobody back to the workspace, where the gateway and the models of the agents are.
  const withoutProxy = [...new Set([NO_PROXY, no_proxy, LOOPBACK])].filter(Boolean).join(',');
  const suggested = {
    PATH: `${path.join(home, '.local/bin')}:${source.searchPath || DEFAULT_PATH}`,
    LANG: 'C.UTF-8',
    TERM: 'xterm-256color',
    SHELL: '/bin/bash',
    HTTP_PROXY: proxy,
    HTTPS_PROXY: proxy,
    http_proxy: proxy,
    https_proxy: proxy,
    // Node's own fetch and http believe in the variables above only when told so.
    NODE_USE_ENV_PROXY: '1',
    npm_config_update_notifier: 'false',
  };
  const fixed = {
    NO_PROXY: withoutProxy,
    no_proxy: withoutProxy,
    HOME: home,
    USER: userName,
    LOGNAME: userName,
    REPLICA_SANDBOX_ID: sandboxId,
    REPLICA_ENGINE_SECRET: secret,
    REPLICA_GATEWAY_URL: `http://${gateway}`,
  };
  return { ...suggested, ...workspace.variables, ...fixed, ...gitVariables(source, workspace) };
}

/** Leaves out variables with which the kernel would start no program at all. */
export function fitVariables(variables: Readonly<Record<string, string>>): {
  variables: Record<string, string>;
  warnings: string[];
} {
  const fitting: Record<string, string> = {};
  const warnings: string[] = [];
  let total = 0;
  for (const [key, value] of Object.entries(variables)) {
    const bytes = Buffer.byteLength(key) + Buffer.byteLength(value) + 2;
    const problem = refuse(key, value, { bytes, total });
    if (problem) {
      warnings.push(`The variable ${printable(key)} is not set: ${problem}.`);
      continue;
    }
    fitting[key] = value;
    total += bytes;
  }
  return { variables: fitting, warnings };
}

function refuse(key: string, value: string, size: { bytes: number; total: number }): string | null {
  if (key === '' || /[=\0]/.test(key)) return 'its name cannot be one of a variable';
  if (value.includes('\0')) return 'its value has a NUL character';
  if (size.bytes > MAX_VARIABLE_BYTES) return 'no program can be started with one of that length';
  if (size.total + size.bytes > MAX_TOTAL_BYTES) return 'all variables together are longer than 1 MiB';
  return null;
}

function printable(key: string): string {
  return key.replace(/[^\x20-\x7e]/g, '?').slice(0, 100);
}
