import { readFileSync } from 'node:fs';
import { Command, Option } from 'commander';
import { z } from 'zod';
import { send } from '../client/client.ts';
import type { ClientOptions, LooseCall } from '../client/request.ts';
import { openStream } from '../client/stream.ts';
import { type Operation, takesIdempotencyKey } from '../contract/operation.ts';
import { operations } from '../contract/operations.ts';
import { type ConnectionOptions, findApiKey, findBaseUrl, withConnectionOptions } from './connection.ts';
import { CommandError } from './error.ts';
import { findJwt } from './keys.ts';

/** Any operation of the contract by name; its flags and its help are made from the contract. */
export function apiCommand(): Command {
  const api = new Command('api')
    .usage('<operation> [flags]')
    .description('Call any operation of the API by name and print the answer.')
    .configureHelp({ visibleOptions: () => [] })
    .argument('[operation]')
    .allowExcessArguments()
    .allowUnknownOption()
    .action((name?: string) => {
      if (name) throw new CommandError(`there is no operation "${name}"; "replica api" lists them all.`);
      api.outputHelp();
    });
  for (const [name, operation] of Object.entries(operations)) {
    // Flags are read off the schemas, which takes a while for all of them: only the one that is asked for gets its own.
    api.addCommand(
      process.argv.includes(name)
        ? operationCommand(name, operation)
        : new Command(name).summary(operation.summary),
    );
  }
  return api;
}

type Field = {
  place: (typeof places)[number];
  name: string;
  required: boolean;
  schema: z.core.JSONSchema.BaseSchema;
};

const places = ['params', 'query', 'headers', 'body'] as const;

/** The command of one operation, with a flag for each field that it takes. */
export function operationCommand(name: string, operation: Operation): Command {
  const fields = fieldsOf(operation);
  const command = withConnectionOptions(new Command(name).summary(operation.summary)).description(
    `${operation.summary}: ${operation.method} ${operation.path}${operation.description ? `\n\n${operation.description}` : ''}`,
  );
  for (const field of fields) command.addOption(optionOf(field));
  if (operation.body) command.option('--body <json>', 'whole body as JSON, @file, or - for standard input');
  if (takesIdempotencyKey(operation))
    command.option('--idempotency-key <key>', 'makes a repeat of this call safe');
  return command.action(async (options: Record<string, string> & ConnectionOptions) => {
    const baseUrl = findBaseUrl(options);
    const isForPeople = operation.access === 'person' || operation.access === 'admin_person';
    const token =
      operation.access === 'anyone'
        ? undefined
        : isForPeople
          ? await findJwt(baseUrl)
          : findApiKey(options, baseUrl);
    const call = {
      ...callOf(operation, fields, options),
      ...(options.idempotencyKey !== undefined && { idempotencyKey: options.idempotencyKey }),
    };
    await print({ baseUrl, ...(token && { token }) }, operation, call);
  });
}

/** Events are printed as they come, one on a line. */
async function print(connection: ClientOptions, operation: Operation, call: LooseCall): Promise<void> {
  if (operation.content !== 'text/event-stream') {
    const answer = await send(connection, operation, call);
    console.log(operation.content ? answer : JSON.stringify(answer, null, 2));
    return;
  }
  // Whoever reads the lines may have seen enough.
  const unread = new AbortController();
  process.stdout.once('error', () => unread.abort());
  try {
    for await (const event of openStream(connection, operation, { ...call, signal: unread.signal }))
      console.log(JSON.stringify(event));
  } catch (error) {
    if (!unread.signal.aborted) throw error;
  }
}

function fieldsOf(operation: Operation): Field[] {
  return places.flatMap((place) => {
    const part = operation[place];
    if (!part) return [];
    const schema = z.toJSONSchema(part, { io: 'input', unrepresentable: 'any' });
    const shapes = (schema.anyOf ?? schema.oneOf ?? [schema]).filter((shape) => typeof shape === 'object');
    const names = new Set(shapes.flatMap((shape) => Object.keys(shape.properties ?? {})));
    return [...names]
      .filter((name) => place !== 'headers' || !isInQuery(operation, name))
      .map((name) => ({
        place,
        name,
        required: shapes.every((shape) => shape.required?.includes(name)),
        schema: mergeSchemas(shapes.map((shape) => shape.properties?.[name])),
      }));
  });
}

/** A field of a body that has several shapes is described by what all of them say of it. */
function mergeSchemas(said: (z.core.JSONSchema._JSONSchema | undefined)[]): z.core.JSONSchema.BaseSchema {
  const schemas = said.filter((schema) => typeof schema === 'object');
  const [first = {}, ...others] = schemas;
  if (others.length === 0) return first;
  const values = schemas.map((schema) => schema.enum ?? (schema.const === undefined ? [] : [schema.const]));
  if (values.every((some) => some.length > 0)) return { type: 'string', enum: values.flat() };
  const { type, description } = first;
  if (!others.every((other) => other.type === type)) return {};
  return { ...(type && { type }), ...(description && { description }) };
}

function optionOf(field: Field): Option {
  const { description, type, enum: values } = field.schema;
  const about = [
    field.required ? 'required' : '',
    values
      ? `one of ${values.join(', ')}`
      : isText(field)
        ? ''
        : type === 'object' || type === 'array' || typeof type !== 'string'
          ? `JSON ${typeof type === 'string' ? type : ''}`.trim()
          : type,
    description ?? '',
  ];
  return new Option(`--${flagOf(field)} <value>`, about.filter(Boolean).join('; '));
}

function callOf(operation: Operation, fields: Field[], options: Record<string, string>) {
  const call: Record<Field['place'], Record<string, unknown>> = {
    params: {},
    query: {},
    headers: {},
    body: {},
  };
  for (const field of fields) {
    const given = options[attributeOf(field)];
    if (given !== undefined)
      call[field.place][field.name] = field.place === 'body' ? parseValue(field, given) : given;
    else if (field.place === 'params') throw new CommandError(`--${flagOf(field)} is missing.`);
  }
  const whole = options.body === undefined ? call.body : parseJson(readText(options.body), '--body');
  const { params, query, headers } = call;
  return { params, query, headers, ...(operation.body && { body: whole }) };
}

function parseValue(field: Field, given: string): unknown {
  if (given === 'null' && kindsOf(field).some((kind) => kind.type === 'null')) return null;
  return isText(field) ? given : parseJson(given, `--${flagOf(field)}`);
}

function parseJson(text: string, flag: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new CommandError(`${flag} is not valid JSON.`);
  }
}

function readText(given: string): string {
  if (given === '-') return readFileSync(0, 'utf8');
  return given.startsWith('@') ? readFileSync(given.slice(1), 'utf8') : given;
}

/** Text and ids are taken as they stand; everything else is JSON. A value that may be null is text unless it says null. */
function isText(field: Field): boolean {
  return kindsOf(field).every(
    ({ type, const: value }) => type === 'string' || type === 'null' || value === 'global',
  );
}

function kindsOf({ schema }: Field): z.core.JSONSchema.BaseSchema[] {
  return (schema.anyOf ?? [schema]).filter((kind) => typeof kind === 'object');
}

/** A body field called like a flag of ours, or like the path parameter `id`, gets its place in front. */
function flagOf({ place, name }: Field): string {
  const flag = toFlag(name);
  return place === 'body' && ['server', 'auth-key', 'idempotency-key', 'body', 'help', 'id'].includes(flag)
    ? `body-${flag}`
    : flag;
}

function toFlag(name: string): string {
  return name.replaceAll('_', '-').replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}

/** What may be said in a header and in the query has one flag. */
function isInQuery({ query }: Operation, header: string): boolean {
  return Object.keys(query?.shape ?? {}).some((name) => toFlag(name) === header);
}

function attributeOf(field: Field): string {
  return flagOf(field).replaceAll(/-([a-z])/g, (_, letter: string) => letter.toUpperCase());
}
