import { z } from 'zod';
import { parseBoundedYaml } from './bounded-yaml.ts';

/** Where a repository may keep its configuration, at its root. The first that exists counts. */
export const configurationNames: string[] = [
  'replica.json',
  'replica.yaml',
  'replica.yml',
  'replicas.json',
  'replicas.yaml',
  'replicas.yml',
];

export type RepositoryHook = {
  commands: string[];
  /** Milliseconds. */
  timeout: number;
  /** Each command in a shell of its own; otherwise all are one script with one time limit. */
  separate: boolean;
};

export type RepositoryConfiguration = {
  systemPrompt: string | null;
  warmHook: RepositoryHook | null;
  startHook: RepositoryHook | null;
};

/** The file cannot be used. The message names the file and the field. */
export class ConfigurationError extends Error {
  override name = 'ConfigurationError';
}

export const maxConfigurationBytes = 65_536;

const defaultTimeoutMs = 300_000;
const maxTimeoutMs = 900_000;
const maxCommands = 100;

export function parseConfiguration(name: string, text: string): RepositoryConfiguration {
  if (Buffer.byteLength(text) > maxConfigurationBytes) {
    throw new ConfigurationError(`${name} is larger than ${maxConfigurationBytes} bytes.`);
  }
  const source = text.replace(/^\uFEFF/, '');
  const value = name.endsWith('.json') ? parseJson(name, source) : parseYaml(name, source);
  const parsed = configurationSchema.safeParse(value ?? {});
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0];
  const field = issue?.path.map(String).join('.') ?? '';
  throw new ConfigurationError(`${name}: ${field || 'the file'} ${issue?.message ?? 'is not valid'}.`);
}

const commandSchema = z
  .string({ error: 'must be a string' })
  .refine((command) => command.trim() !== '', 'must not be empty')
  .refine((command) => !command.includes('\0'), 'must not contain a NUL character');

const hookSchema = z
  .object(
    {
      commands: z
        .array(commandSchema, { error: 'must be a list of commands' })
        .max(maxCommands, `must have at most ${maxCommands} commands`),
      timeout: z
        .int({ error: 'must be a whole number of milliseconds' })
        .min(1, 'must be at least 1 millisecond')
        .max(maxTimeoutMs, `must be at most ${maxTimeoutMs} milliseconds (15 minutes)`)
        .default(defaultTimeoutMs),
      separate: z.boolean({ error: 'must be true or false' }).default(true),
    },
    { error: 'must be an object with a list of commands' },
  )
  // Without a command there is nothing to run.
  .transform((hook): RepositoryHook | null => (hook.commands.length === 0 ? null : hook))
  .nullable()
  .default(null);

const configurationSchema = z.object(
  {
    systemPrompt: z
      .string({ error: 'must be a string' })
      .refine((prompt) => !prompt.includes('\0'), 'must not contain a NUL character')
      .transform((prompt) => (prompt.trim() === '' ? null : prompt))
      .nullable()
      .default(null),
    warmHook: hookSchema,
    startHook: hookSchema,
  },
  { error: 'must be an object' },
);

function parseJson(name: string, text: string): unknown {
  try {
    return text.trim() === '' ? null : JSON.parse(text);
  } catch (cause) {
    throw new ConfigurationError(`${name} is not valid JSON.`, { cause });
  }
}

function parseYaml(name: string, text: string): unknown {
  try {
    return parseBoundedYaml(text, { maxTokens: 5000, maxAliases: 20 });
  } catch (cause) {
    throw new ConfigurationError(`${name} is not valid YAML${lineOf(cause, text)}.`, { cause });
  }
}

function lineOf(cause: unknown, text: string): string {
  const offset = (cause as { pos?: [number, number] }).pos?.[0];
  return offset === undefined ? '' : ` (line ${text.slice(0, offset).split('\n').length})`;
}
