import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { openApiDocument } from './openapi.ts';
import { errorsOf, type Operation } from './operation.ts';

const common = { tag: 'Replicas', summary: 'Do it', access: 'member' } as const;
const event = z.object({ type: z.literal('tick'), n: z.int() }).meta({ id: 'Tick' });
const operations = {
  watch: {
    ...common,
    method: 'GET',
    path: '/v1/watch',
    headers: z.object({ 'last-event-id': z.string().max(20).optional().describe('Resumes after it') }),
    content: 'text/event-stream',
    answers: { 200: event },
  },
  trial: {
    ...common,
    method: 'POST',
    path: '/v1/trial',
    content: 'text/event-stream',
    answers: { 200: event },
  },
  getLog: { ...common, method: 'GET', path: '/v1/log', content: 'text/plain', answers: { 200: z.string() } },
  create: { ...common, method: 'POST', path: '/v1/thing', answers: { 201: z.object({}) } },
  register: { ...common, access: 'anyone', method: 'POST', path: '/v1/own', answers: { 201: z.object({}) } },
  unregister: {
    ...common,
    access: 'anyone',
    credential: 'engine',
    method: 'DELETE',
    path: '/v1/own',
    headers: z.object({ authorization: z.string().optional(), 'x-workspace-id': z.string() }),
    answers: { 200: z.object({}) },
  },
} as const satisfies Record<string, Operation>;

type Described = {
  description: string;
  security: object[];
  parameters?: object[];
  responses: Record<string, { description: string; content: object }>;
};

const document = openApiDocument(operations, { baseUrl: 'http://a.example', version: '0' });
const describedOf = ({ path, method }: Operation) =>
  (document.paths as Record<string, Record<string, Described>>)[path]?.[method.toLowerCase()];

describe('openApiDocument', () => {
  test('lists the headers of an operation as parameters', () => {
    expect(describedOf(operations.watch)?.parameters).toEqual([
      {
        name: 'last-event-id',
        in: 'header',
        required: false,
        description: 'Resumes after it',
        schema: { type: 'string', maxLength: 20 },
      },
    ]);
    expect(errorsOf(operations.watch)).toContain('invalid_request');
  });

  test('describes the data of events, and says how events come', () => {
    const answer = describedOf(operations.watch)?.responses[200];
    expect(answer?.content).toEqual({
      'text/event-stream': { schema: { $ref: '#/components/schemas/Tick' } },
    });
    expect(answer?.description).toMatch(/^Do it\. Server-sent events: .*`error`/);
  });

  test('describes text as text', () => {
    expect(describedOf(operations.getLog)?.responses[200]).toEqual({
      description: 'Do it',
      content: { 'text/plain': { schema: { type: 'string' } } },
    });
  });

  test('offers an Idempotency-Key to every POST that does not stream', () => {
    expect(describedOf(operations.create)?.parameters).toMatchObject([{ name: 'Idempotency-Key' }]);
    expect(errorsOf(operations.create)).toContain('idempotency_key_reused');
    expect(describedOf(operations.trial)?.parameters).toBeUndefined();
    expect(errorsOf(operations.trial)).not.toContain('idempotency_key_reused');
    expect(errorsOf(operations.trial)).toContain('invalid_request');
  });

  test('says of an operation for anyone that it takes no API key, whatever else it takes', () => {
    expect(describedOf(operations.register)).toMatchObject({
      description: 'Takes no API key.',
      security: [],
    });
  });

  test('names the credential that an operation looks at by itself as a scheme, and not as a header', () => {
    const described = describedOf(operations.unregister);
    expect(described).toMatchObject({
      description: 'Takes the engine secret of the replica, not an API key.',
      security: [{ engine: [] }],
    });
    expect(described?.parameters).toMatchObject([{ name: 'x-workspace-id', in: 'header', required: true }]);
    expect(document.components).toMatchObject({
      securitySchemes: { engine: { type: 'http', scheme: 'bearer' } },
    });
  });
});
