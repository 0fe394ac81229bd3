import type { z } from 'zod';
import type { ErrorCode } from './error.ts';

/**
 * Who may call an operation.
 * - `anyone`: no credential is looked at.
 * - `member`: an API key of either kind, or a person's JWT.
 * - `admin`: an org API key, or a person or personal key whose role is admin.
 * - `person`: a JWT; an API key gets 401.
 * - `admin_person`: a JWT of an admin; an API key gets 401, a member 403.
 */
export type Access = 'anyone' | 'member' | 'admin' | 'person' | 'admin_person';

/** The secret of an engine: it speaks for a sandbox, not for somebody. */
export type Credential = 'engine';

/** What operations are about; the reference page groups them so. */
export const tags = {
  Replicas: 'Workspaces in which agents work: their life from creation to deletion, and their events.',
  Chats: 'Conversations with the agents of a replica, and the messages that wait in them.',
  Canvas: 'Files that an agent shows, kept also while its replica sleeps.',
  Previews: 'Ports of a replica that are reachable from outside.',
  Terminals: 'Shells in a replica.',
  Usage: 'Time that replicas were awake, and what it costs.',
  Environments: 'Units that carry the configuration of workspaces; one of them, Global, applies to all.',
  Variables: 'Environment variables of an environment, sealed at rest.',
  Files: 'Files that are placed in a workspace at provisioning.',
  Skills: 'Skills of the catalog, skill registries, and skills found in bound repositories.',
  'MCP servers': 'MCP servers an agent may use.',
  Hooks: 'Scripts run at warm time and at boot.',
  'Warm pools': 'Workspaces prepared in advance.',
  Repositories: 'Git repositories the organization has connected, sets of them, and their credentials.',
  Automations: 'What starts replicas by itself: schedules, events of git hosts, calls from outside.',
  Webhooks: 'What replicas tell the address that was given at their creation.',
  'Coding agents': "The organization's credentials for each coding agent.",
  'API keys': 'Keys of the organization and of people.',
  People: 'Members and invitations.',
  Account: 'Who the caller is.',
  Login: 'Signing in, at /v1/auth; better-auth answers these.',
} as const satisfies Record<string, string>;

export type Tag = keyof typeof tags;

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/** What a success answers with when it is not JSON: server-sent events, or text. */
export type Content = 'text/event-stream' | 'text/plain';

/** One operation of the API as a value. Server, client, OpenAPI and command line derive from it. */
export type Operation = {
  method: Method;
  /** Path with `{name}` for each parameter. */
  path: `/${string}`;
  tag: Tag;
  summary: string;
  description?: string;
  access: Access;
  /** What an operation for anyone asks for in `Authorization` all the same, and looks at by itself. */
  credential?: Credential;
  /** A parameter that does not parse makes the path name nothing: 404. */
  params?: z.ZodObject;
  query?: z.ZodObject;
  /** Headers that mean something to this operation; their names in lower case. */
  headers?: z.ZodObject;
  body?: z.ZodType;
  /** Takes a body of any type as the bytes that came, for who checks a signature over them. Excludes `body`. */
  isRaw?: true;
  content?: Content;
  /** The success answers by status. Of a stream: what the `data` of each of its events is. */
  answers: Partial<Record<200 | 201 | 202, z.ZodType>>;
  /** What can go wrong besides what every operation shares (see `sharedErrors`). */
  errors?: readonly ErrorCode[];
  /** When it was replaced by something better, as a day; callers are told by a header. */
  deprecatedSince?: string;
  /** Largest body in bytes, when it differs from the service's default. */
  bodyLimit?: number;
};

type Parsed<S> = S extends z.ZodType ? z.output<S> : undefined;
type Sent<S> = S extends z.ZodType ? z.input<S> : undefined;

/** What a handler receives: parsed and trusted. */
export type Input<O extends Operation> = {
  params: Parsed<O['params']>;
  query: Parsed<O['query']>;
  headers: Parsed<O['headers']>;
  body: Parsed<O['body']>;
};

/** What a caller sends. */
export type Call<O extends Operation> = {
  params: Sent<O['params']>;
  query: Sent<O['query']>;
  headers: Sent<O['headers']>;
  body: Sent<O['body']>;
};

/** What a handler answers: one of the declared statuses with its body. */
export type Answer<O extends Operation> = {
  [S in keyof O['answers']]: O['answers'][S] extends z.ZodType
    ? { status: S; body: z.input<O['answers'][S]> }
    : never;
}[keyof O['answers']];

/** What a caller receives on success. */
export type AnswerBody<O extends Operation> = {
  [S in keyof O['answers']]: O['answers'][S] extends z.ZodType ? z.output<O['answers'][S]> : never;
}[keyof O['answers']];

/** The errors every operation can answer with, given how it is called. */
export function sharedErrors(operation: Operation): ErrorCode[] {
  const errors: ErrorCode[] = ['rate_limited', 'internal_error', 'unavailable'];
  if (operation.access !== 'anyone') errors.push('unauthenticated');
  if (operation.access === 'admin' || operation.access === 'admin_person') errors.push('forbidden');
  if (operation.params) errors.push('not_found');
  if (operation.query || operation.headers || operation.body) errors.push('invalid_request');
  if (operation.body) errors.push('invalid_json', 'payload_too_large', 'unsupported_media_type');
  if (operation.isRaw) errors.push('payload_too_large');
  // A key is looked at also where it is not taken.
  if (operation.method === 'POST' && operation.access !== 'anyone') errors.push('invalid_request');
  if (takesIdempotencyKey(operation)) errors.push('idempotency_key_reused', 'idempotency_key_in_progress');
  return errors;
}

/** Without a caller there is nobody whose key it could be, and a stream cannot be kept for a repeat. */
export function takesIdempotencyKey({ method, access, content }: Operation): boolean {
  return method === 'POST' && access !== 'anyone' && content !== 'text/event-stream';
}

/** All errors of an operation, without repeats. */
export function errorsOf(operation: Operation): ErrorCode[] {
  return [...new Set([...sharedErrors(operation), ...(operation.errors ?? [])])];
}
