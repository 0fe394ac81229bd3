import { z } from 'zod';
import { id, label, success, text, time } from './common.ts';
import { environmentId, environmentParams } from './environment.ts';
import type { Operation } from './operation.ts';

const MAX_CONFIG_BYTES = 65_536;
const MAX_ENTRIES = 256;

const environmentKey = /^[A-Za-z_][A-Za-z0-9_]{0,254}$/;
/** The token of RFC 9110, which is all a header name may be. */
const headerName = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,255}$/;
const headerValue = text(16_384).regex(
  /^[\t\x20-\x7e\x80-\xff]*$/,
  'must hold only characters that an HTTP header can carry, no line breaks',
);

/** How a server over stdio is started. Fields that are not known are kept. */
const stdioConfig = z
  .looseObject({
    command: label(4_096),
    args: z.array(text(32_768)).max(MAX_ENTRIES, `must have at most ${MAX_ENTRIES} entries`).optional(),
    env: entries(
      environmentKey,
      'must have keys that match ^[A-Za-z_][A-Za-z0-9_]*$',
      text(32_768),
    ).optional(),
    url: foreign('http and sse'),
    headers: foreign('http and sse'),
  })
  .refine(fits, { error: tooLarge })
  .meta({ id: 'McpStdioConfig' });

/** Where a server over HTTP is reached. Fields that are not known are kept. */
const remoteConfig = z
  .looseObject({
    url: text(2_048).refine(isHttpUrl, {
      error: 'must be an http:// or https:// URL without user name and password',
    }),
    headers: entries(headerName, 'must have keys that are valid HTTP header names', headerValue).optional(),
    command: foreign('stdio'),
    args: foreign('stdio'),
    env: foreign('stdio'),
  })
  .refine(fits, { error: tooLarge })
  .meta({ id: 'McpRemoteConfig' });

/** What `config` must be, by transport. */
export const mcpConfig = { stdio: stdioConfig, http: remoteConfig, sse: remoteConfig } as const;

export const mcpTransport = z.enum(['stdio', 'http', 'sse']);

const name = text(64)
  .regex(/^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/, 'must match ^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$')
  .refine((value) => !/^(service|replica)-/i.test(value), {
    error: 'must not start with service- or replica-, which are reserved',
  });

const mcp = z
  .object({
    id,
    organization_id: id,
    environment_id: id,
    name: z.string(),
    transport: mcpTransport,
    config: z.union([stdioConfig, remoteConfig]),
    created_at: time,
    updated_at: time,
  })
  .meta({ id: 'EnvironmentMcp' });

const params = z.object({ environmentId, id });
const answer = z.object({ environment_mcp: mcp });

export const mcpOperations = {
  listMcps: {
    method: 'GET',
    path: '/v1/environments/{environmentId}/mcps',
    tag: 'MCP servers',
    summary: 'List the MCP servers of an environment',
    access: 'member',
    params: environmentParams,
    answers: { 200: z.object({ environment_mcps: z.array(mcp) }) },
  },
  createMcp: {
    method: 'POST',
    path: '/v1/environments/{environmentId}/mcps',
    tag: 'MCP servers',
    summary: 'Add an MCP server',
    access: 'member',
    params: environmentParams,
    body: z.discriminatedUnion(
      'transport',
      [
        z.object({ name, transport: z.literal('stdio'), config: stdioConfig }),
        z.object({ name, transport: z.literal(['http', 'sse']), config: remoteConfig }),
      ],
      { error: (issue) => (issue.code === 'invalid_union' ? 'must be stdio, http or sse' : undefined) },
    ),
    answers: { 201: answer },
    errors: ['already_exists', 'limit_reached'],
  },
  getMcp: {
    method: 'GET',
    path: '/v1/environments/{environmentId}/mcps/{id}',
    tag: 'MCP servers',
    summary: 'Read an MCP server',
    access: 'member',
    params,
    answers: { 200: answer },
  },
  updateMcp: {
    method: 'PATCH',
    path: '/v1/environments/{environmentId}/mcps/{id}',
    tag: 'MCP servers',
    summary: 'Change an MCP server',
    description:
      'Only the fields given change; `config` is replaced as a whole. A change of `transport` needs a `config` that fits it.',
    access: 'member',
    params,
    body: z.object({
      name: name.optional(),
      transport: mcpTransport.optional(),
      config: z
        .looseObject({})
        .optional()
        .describe('As on creation, for the transport that stands after the change.'),
    }),
    answers: { 200: answer },
    errors: ['already_exists'],
  },
  deleteMcp: {
    method: 'DELETE',
    path: '/v1/environments/{environmentId}/mcps/{id}',
    tag: 'MCP servers',
    summary: 'Remove an MCP server',
    access: 'member',
    params,
    answers: { 200: success },
  },
} as const satisfies Record<string, Operation>;

function entries<V extends z.ZodType<string>>(key: RegExp, keyError: string, value: V) {
  return z
    .record(z.string(), value)
    .refine((record) => Object.keys(record).every((name) => key.test(name)), { error: keyError })
    .refine((record) => Object.keys(record).length <= MAX_ENTRIES, {
      error: `must have at most ${MAX_ENTRIES} entries`,
    });
}

/** A field of another transport: most likely the caller mixed the two up, and silence would hide it. */
function foreign(transport: string) {
  return z.never({ error: `belongs to the transport ${transport}` }).optional();
}

function fits(config: Record<string, unknown>): boolean {
  return Buffer.byteLength(JSON.stringify(config)) <= MAX_CONFIG_BYTES;
}

function tooLarge(): string {
  return `must be at most ${MAX_CONFIG_BYTES.toLocaleString('en')} bytes of JSON`;
}

function isHttpUrl(value: string): boolean {
  const url = /[\s\p{Cc}]/u.test(value) ? null : URL.parse(value);
  if (!url || !/^https?:\/\/[^/]/i.test(value)) return false;
  return (
    (url.protocol === 'http:' || url.protocol === 'https:') && url.username === '' && url.password === ''
  );
}
