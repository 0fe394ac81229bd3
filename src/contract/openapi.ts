import { z } from 'zod';
import { errorBody, errorCodeHeader, errorStatus } from './error.ts';
import {
  type Access,
  type Content,
  type Credential,
  errorsOf,
  type Operation,
  tags,
  takesIdempotencyKey,
} from './operation.ts';
import { deliveryHeaders, webhookEvent } from './webhook.ts';

type Json = Record<string, unknown>;

/** The OpenAPI 3.1 document of a table of operations. */
export function openApiDocument(
  operations: Record<string, Operation>,
  about: { baseUrl: string; version: string },
): Json {
  const schemas: Json = {};
  const paths: Record<string, Json> = {};
  for (const [name, operation] of Object.entries(operations)) {
    const item = paths[operation.path] ?? {};
    item[operation.method.toLowerCase()] = describe(name, operation, schemas);
    paths[operation.path] = item;
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Replica Service API',
      version: about.version,
      description: 'Creates and manages cloud workspaces in which AI coding agents run.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: about.baseUrl }],
    tags: Object.entries(tags)
      .filter(([name]) => Object.values(operations).some((operation) => operation.tag === name))
      .map(([name, description]) => ({ name, description })),
    paths,
    webhooks: { replicaEvent: { post: describeDelivery(schemas) } },
    components: {
      schemas,
      securitySchemes: {
        apiKey: {
          type: 'http',
          scheme: 'bearer',
          description: 'An org or personal API key (`rs_org_…`, `rs_user_…`).',
        },
        person: {
          type: 'http',
          scheme: 'bearer',
          bearerFormat: 'JWT',
          description: "A signed-in person's JWT.",
        },
        engine: {
          type: 'http',
          scheme: 'bearer',
          description: 'The engine secret of a replica (`rs_engine_…`), which programs inside it have.',
        },
      },
    },
  };
}

function describe(name: string, operation: Operation, schemas: Json): Json {
  return {
    operationId: name,
    tags: [operation.tag],
    summary: operation.summary,
    ...(operation.deprecatedSince && { deprecated: true }),
    description: [operation.description, credentialNote(operation)].filter(Boolean).join('\n\n'),
    security: operation.credential ? [{ [operation.credential]: [] }] : security[operation.access],
    ...optional('parameters', parameters(operation, schemas)),
    ...(operation.body && {
      requestBody: { required: true, content: jsonContent(toSchema(operation.body, 'input', schemas)) },
    }),
    ...(operation.isRaw && { requestBody: { content: { '*/*': {} } } }),
    responses: { ...successes(operation, schemas), ...failures(operation, schemas) },
  };
}

/** What is sent to the address that was given at the creation of a replica. */
function describeDelivery(schemas: Json): Json {
  return {
    operationId: 'receiveReplicaEvent',
    tags: ['Webhooks'],
    summary: 'Learn what happens to a replica',
    description:
      'Events of a replica come in order and at least once. Answer with 2xx within 10 seconds; after a network error, 5xx or 429 a delivery is tried three times more, after 1, 5 and 25 seconds or what `Retry-After` says. Redirects are not followed, and any other answer is final.',
    security: [],
    parameters: Object.entries(deliveryHeaders).map(([name, description]) => ({
      name,
      in: 'header',
      required: !name.includes('Signature'),
      description,
      schema: { type: 'string' },
    })),
    requestBody: { required: true, content: jsonContent(toSchema(webhookEvent, 'output', schemas)) },
    responses: { '2XX': { description: 'The event has arrived.' } },
  };
}

function credentialNote({ credential, access }: Operation): string {
  return credential ? ownCredentialNote[credential] : accessNote[access];
}

const ownCredentialNote: Record<Credential, string> = {
  engine: 'Takes the engine secret of the replica, not an API key.',
};

const accessNote: Record<Access, string> = {
  anyone: 'Takes no API key.',
  member: '',
  admin: 'For org API keys and admins.',
  person: "Takes a person's JWT, not an API key.",
  admin_person: "Takes an admin's JWT, not an API key.",
};

const security: Record<Access, Json[]> = {
  anyone: [],
  member: [{ apiKey: [] }, { person: [] }],
  admin: [{ apiKey: [] }, { person: [] }],
  person: [{ person: [] }],
  admin_person: [{ person: [] }],
};

function parameters(operation: Operation, schemas: Json): Json[] {
  // A credential stands under `security`; the document may not name its header besides.
  const headers = parametersIn('header', operation.headers, schemas).filter(
    ({ name }) => name !== 'authorization',
  );
  const listed = [
    ...parametersIn('path', operation.params, schemas),
    ...parametersIn('query', operation.query, schemas),
    ...headers,
  ];
  if (takesIdempotencyKey(operation)) {
    listed.push({
      name: 'Idempotency-Key',
      in: 'header',
      description: 'Repeats with the same key and body within 24 h get the first answer again.',
      schema: { type: 'string', minLength: 1, maxLength: 255 },
    });
  }
  return listed;
}

function parametersIn(
  place: 'path' | 'query' | 'header',
  schema: z.ZodObject | undefined,
  schemas: Json,
): Json[] {
  if (!schema) return [];
  const { properties = {}, required = [] } = toSchema(schema, 'input', schemas) as {
    properties?: Record<string, Json>;
    required?: string[];
  };
  return Object.entries(properties).map(([name, { description, ...property }]) => ({
    name,
    in: place,
    required: place === 'path' || required.includes(name),
    ...optional('description', description),
    schema: property,
  }));
}

function successes(operation: Operation, schemas: Json): Json {
  const entries = Object.entries(operation.answers).map(([status, schema]) => [
    status,
    {
      description: [operation.summary, contentNote[operation.content ?? 'application/json']].join(''),
      content: { [operation.content ?? 'application/json']: { schema: toSchema(schema, 'output', schemas) } },
    },
  ]);
  return Object.fromEntries(entries);
}

const contentNote: Record<Content | 'application/json', string> = {
  'application/json': '',
  'text/plain': '',
  'text/event-stream': [
    '. Server-sent events: the schema is that of the `data` of each event, which is JSON on one line.',
    'A comment comes every 15 seconds. What goes wrong after the first event is told by an event',
    '`error` without an id, whose data are `code` and `message`, and which is the last one.',
  ].join(' '),
};

function failures(operation: Operation, schemas: Json): Json {
  const byStatus = Map.groupBy(errorsOf(operation), (code) => errorStatus[code]);
  const entries = [...byStatus].sort().map(([status, codes]) => [
    String(status),
    {
      description: codes.join(', '),
      headers: {
        [errorCodeHeader]: { description: 'Stable error code', schema: { type: 'string', enum: codes } },
      },
      content: jsonContent(toSchema(errorBody, 'output', schemas)),
    },
  ]);
  return Object.fromEntries(entries);
}

/** A zod schema as JSON Schema; schemas with an id move to the document's components. */
function toSchema(schema: z.ZodType, io: 'input' | 'output', schemas: Json): Json {
  const converted = z.toJSONSchema(schema, {
    io,
    unrepresentable: 'any',
    reused: 'inline',
    override: allowMoreFields,
  });
  const {
    $defs = {},
    $schema,
    ...own
  } = pointAtComponents(converted) as Json & { $defs?: Record<string, Json> };
  for (const [name, definition] of Object.entries($defs)) schemas[name] = withoutId(definition);
  const name = own.id;
  if (typeof name !== 'string') return own;
  schemas[name] = withoutId(own);
  return { $ref: `#/components/schemas/${name}` };
}

/** Answers may gain fields in a later release, so a client must not refuse what it does not know. */
function allowMoreFields({ jsonSchema }: { jsonSchema: Json }): void {
  if (jsonSchema.additionalProperties === false) delete jsonSchema.additionalProperties;
}

function pointAtComponents(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(pointAtComponents);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).map(([key, inner]) => {
    const isLocal = key === '$ref' && typeof inner === 'string' && inner.startsWith('#/$defs/');
    return [key, isLocal ? inner.replace('#/$defs/', '#/components/schemas/') : pointAtComponents(inner)];
  });
  return Object.fromEntries(entries);
}

function withoutId({ id, ...schema }: Json): Json {
  return schema;
}

function jsonContent(schema: Json): Json {
  return { 'application/json': { schema } };
}

function optional(name: string, value: unknown): Json {
  const isEmpty = value === undefined || (Array.isArray(value) && value.length === 0);
  return isEmpty ? {} : { [name]: value };
}
