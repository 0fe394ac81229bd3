import path from 'node:path';
import { z } from 'zod';

/**
 * Everything an operator can set, in one place. `replica config` prints this table; a value that does
 * not parse stops the start with one line that names the variable.
 */
export const settings = {
  host: setting({
    variable: 'REPLICA_HOST',
    schema: z.string().min(1),
    fallback: '127.0.0.1',
    description: 'Address the API listens on.',
  }),
  port: setting({
    variable: 'REPLICA_PORT',
    schema: integer(0, 65_535),
    fallback: '7070',
    description: 'Port the API listens on; 0 picks a free one.',
  }),
  baseUrl: setting({
    variable: 'REPLICA_BASE_URL',
    schema: webAddress()
      .transform((url) => url.replace(/\/+$/, ''))
      .optional(),
    description: 'Address under which callers reach the service; default http://HOST:PORT.',
  }),
  trustedProxies: setting({
    variable: 'REPLICA_TRUSTED_PROXIES',
    schema: z
      .string()
      .transform((list) =>
        list
          .split(',')
          .map((address) => address.trim())
          .filter(Boolean),
      )
      .refine(
        (list) => list.every(isNetwork),
        'must be IP addresses or networks such as 10.0.0.0/8, comma-separated',
      ),
    fallback: '',
    description: 'Reverse proxies whose X-Forwarded-For names the caller, comma-separated; none by default.',
  }),
  dataDir: setting({
    variable: 'REPLICA_DATA_DIR',
    schema: z
      .string()
      .min(1)
      .transform((folder) => path.resolve(folder)),
    fallback: path.resolve(import.meta.dirname, '..', '.replica'),
    description: 'Folder of everything the service keeps; default .replica in the project folder.',
  }),
  databaseUrl: setting({
    variable: 'DATABASE_URL',
    schema: z
      .string()
      .regex(/^postgres(ql)?:\/\//, 'must start with postgresql://')
      .optional(),
    description: 'PostgreSQL server to use instead of the embedded one.',
    secret: true,
  }),
  databasePoolSize: setting({
    variable: 'REPLICA_DATABASE_POOL_SIZE',
    schema: integer(2, 500),
    fallback: '20',
    description: 'Connections to PostgreSQL each process may hold for requests.',
  }),
  secretKey: setting({
    variable: 'REPLICA_SECRET_KEY',
    schema: z.string().min(1).optional(),
    description:
      'Master keys, 32 bytes each in base64 or hex, comma-separated, current one first; made and stored in the data folder when absent.',
    secret: true,
  }),
  allowPrivateTargets: setting({
    variable: 'REPLICA_ALLOW_PRIVATE_TARGETS',
    schema: flag(),
    fallback: 'false',
    description: 'Let repositories, registries and callbacks name private addresses, http:// and file://.',
  }),
  skillCatalogUrl: setting({
    variable: 'REPLICA_SKILL_CATALOG_URL',
    schema: webAddress(),
    fallback: 'https://skills.sh/api/search',
    description: 'Skill catalog: GET with q and limit, answers { skills: [...] }.',
  }),
  skillCatalogTimeoutMs: setting({
    variable: 'REPLICA_SKILL_CATALOG_TIMEOUT_MS',
    schema: integer(10, 60_000),
    fallback: '5000',
    description: 'How long the skill catalog may take to answer.',
  }),
  warmPoolSize: setting({
    variable: 'REPLICA_WARM_POOL_SIZE',
    schema: integer(0, 100),
    fallback: '2',
    description: 'Ready workspaces each warm pool aims at.',
  }),
  runtime: setting({
    variable: 'REPLICA_RUNTIME',
    schema: z.enum(['namespace', 'process', 'fake']),
    fallback: 'namespace',
    description:
      'What makes sandboxes: namespace isolates them, process does not (see the next setting), fake runs nothing.',
  }),
  acceptNoIsolation: setting({
    variable: 'REPLICA_I_UNDERSTAND_THERE_IS_NO_ISOLATION',
    schema: flag(),
    fallback: 'false',
    description: 'Must be true for REPLICA_RUNTIME=process: agents then run as the user of the service.',
  }),
  sandboxBase: setting({
    variable: 'REPLICA_SANDBOX_BASE',
    schema: z.enum(['auto', 'host', 'rootfs']),
    fallback: 'auto',
    description:
      "What a sandbox sees as its system: the host's /usr read-only, or the tree of `replica base build`; auto takes the tree when there is one.",
  }),
  agentsDir: setting({
    variable: 'REPLICA_AGENTS_DIR',
    schema: z
      .string()
      .min(1)
      .transform((folder) => path.resolve(folder)),
    fallback: path.resolve(import.meta.dirname, '..', 'node_modules', '.cache', 'replica-agents'),
    description: 'Folder of the programs of coding agents; sandboxes see it read-only.',
  }),
  agentRunner: setting({
    variable: 'REPLICA_AGENT_RUNNER',
    schema: z.enum(['real', 'scripted']),
    fallback: 'real',
    description:
      'With scripted, one built-in agent without a model works on every message, literally: for tests and demos.',
  }),
  offlineModel: setting({
    variable: 'REPLICA_OFFLINE_MODEL',
    schema: flag(),
    fallback: 'false',
    description:
      'Lets claude, codex and opencode speak to a scripted model without intelligence where the organization has set no credential.',
  }),
  modelPricesFile: setting({
    variable: 'REPLICA_MODEL_PRICES',
    schema: z
      .string()
      .transform((file) => path.resolve(file))
      .optional(),
    description:
      'JSON file with prices of models instead of the built-in ones: dollars for a million tokens, by the beginning of the name.',
  }),
  followUpSeconds: setting({
    variable: 'REPLICA_FOLLOW_UP_SECONDS',
    schema: integer(0, 3_600),
    fallback: '10',
    description:
      'How long failed checks and comments of a pull request are gathered before the agent is told of them.',
  }),
  turnSilenceSeconds: setting({
    variable: 'REPLICA_TURN_SILENCE_SECONDS',
    schema: integer(1, 86_400),
    fallback: '1800',
    description: 'A turn is ended and fails when the agent says nothing for so long.',
  }),
  turnSeconds: setting({
    variable: 'REPLICA_TURN_SECONDS',
    schema: integer(1, 604_800),
    fallback: '21600',
    description: 'A turn is ended and fails when it takes longer than this in all.',
  }),
  sandboxSize: setting({
    variable: 'REPLICA_SANDBOX_SIZE',
    schema: z.enum(['small', 'large']),
    fallback: 'small',
    description: 'Sandbox tier of organizations that have set none: the size where nobody names one.',
  }),
  autoSleepSeconds: setting({
    variable: 'REPLICA_AUTO_SLEEP_SECONDS',
    schema: integer(1, 31_536_000),
    fallback: '3600',
    description: 'An active replica sleeps after so long without activity.',
  }),
  deleteAfterInactivitySeconds: setting({
    variable: 'REPLICA_DELETE_AFTER_INACTIVITY_SECONDS',
    schema: integer(1, 31_536_000),
    fallback: '3600',
    description: 'A replica of policy delete_after_inactivity is deleted after so long without activity.',
  }),
  deleteAfterSleepSeconds: setting({
    variable: 'REPLICA_DELETE_AFTER_SLEEP_SECONDS',
    schema: integer(1, 315_360_000),
    fallback: '604800',
    description: 'A sleeping replica is deleted after so long asleep.',
  }),
  stallSeconds: setting({
    variable: 'REPLICA_STALL_SECONDS',
    schema: integer(1, 86_400),
    fallback: '120',
    description: 'A start, sleep or deletion that makes no progress for so long is begun anew.',
  }),
  egressMode: setting({
    variable: 'REPLICA_EGRESS_MODE',
    schema: z.enum(['none', 'allowlist', 'open']),
    fallback: 'allowlist',
    description: 'What sandboxes may reach where their environment says nothing.',
  }),
  egressHosts: setting({
    variable: 'REPLICA_EGRESS_HOSTS',
    schema: z.string().transform((list) =>
      list
        .split(',')
        .map((host) => host.trim().toLowerCase())
        .filter(Boolean),
    ),
    fallback: '',
    description:
      'Hosts allowed besides package registries and git hosts, comma-separated; *.example.com works.',
  }),
  previewDomain: setting({
    variable: 'REPLICA_PREVIEW_DOMAIN',
    schema: z
      .string()
      .toLowerCase()
      .regex(/^[a-z0-9.-]+(:\d+)?$/, 'must be a host name')
      .optional(),
    description:
      'Previews answer at PORT--REPLICA.DOMAIN besides /p/REPLICA/PORT/; needs a wildcard DNS record.',
  }),
  rateLimitBurst: setting({
    variable: 'REPLICA_RATE_LIMIT_BURST',
    schema: integer(1, 10_000_000),
    fallback: '2000',
    description: 'Requests one key may make at once, per process.',
  }),
  rateLimitPerSecond: setting({
    variable: 'REPLICA_RATE_LIMIT_PER_SECOND',
    schema: integer(1, 10_000_000),
    fallback: '200',
    description: 'Requests per second one key may make over time, per process.',
  }),
  bodyLimitBytes: setting({
    variable: 'REPLICA_BODY_LIMIT_BYTES',
    schema: integer(100_000, 100_000_000),
    fallback: '1048576',
    description: 'Largest request body, where an operation has no limit of its own.',
  }),
  workerConcurrency: setting({
    variable: 'REPLICA_WORKER_CONCURRENCY',
    schema: integer(1, 100),
    fallback: '16',
    description: 'Jobs each process runs at once.',
  }),
  logLevel: setting({
    variable: 'REPLICA_LOG_LEVEL',
    schema: z.enum(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent']),
    fallback: 'info',
    description: 'Least severe log line written.',
  }),
  apiKey: setting({
    variable: 'REPLICA_API_KEY',
    schema: z.string().optional(),
    description: 'Key the command line sends when --auth-key is not given.',
    secret: true,
  }),
};

export type Config = { [K in keyof typeof settings]: z.output<(typeof settings)[K]['schema']> };

/** A value an operator set wrongly; the message is the one line to print. */
export class ConfigError extends Error {
  override name = 'ConfigError';
}

export function loadConfig(environment: NodeJS.ProcessEnv): Config {
  const config: Record<string, unknown> = {};
  for (const [name, { variable, schema, fallback }] of Object.entries(settings)) {
    const given = environment[variable];
    const parsed = schema.safeParse(given === undefined || given === '' ? fallback : given);
    if (!parsed.success) {
      const reason = parsed.error.issues.map((issue) => issue.message).join('; ');
      throw new ConfigError(`${variable} is wrong: ${reason}`);
    }
    config[name] = parsed.data;
  }
  // Each value came out of its own schema just above.
  return config as Config;
}

/** Names that look like ours but are none of the table: most often a misspelling. */
export function unknownVariables(environment: NodeJS.ProcessEnv): string[] {
  const known = new Set<string>(Object.values(settings).map(({ variable }) => variable));
  return Object.keys(environment).filter(
    (name) => name.startsWith('REPLICA_') && !name.startsWith('REPLICA_TEST_') && !known.has(name),
  );
}

type Setting<S> = { variable: string; schema: S; fallback?: string; description: string; secret?: boolean };

function setting<S extends z.ZodType>({ fallback, secret = false, ...rest }: Setting<S>) {
  return { ...rest, fallback, secret };
}

function integer(min: number, max: number) {
  return z
    .string()
    .regex(/^\d+$/, 'must be a whole number')
    .transform(Number)
    .pipe(z.number().min(min, `must be at least ${min}`).max(max, `must be at most ${max}`));
}

/** Unlike zod's own httpUrl, which takes only names with a dot: an IP address or localhost will do. */
function webAddress() {
  return z.url({ protocol: /^https?$/, error: 'must be an http:// or https:// URL' });
}

function flag() {
  return z
    .enum(['true', 'false', '1', '0'], 'must be true or false')
    .transform((value) => value === 'true' || value === '1');
}

function isNetwork(text: string): boolean {
  return z.union([z.ipv4(), z.ipv6(), z.cidrv4(), z.cidrv6()]).safeParse(text).success;
}
