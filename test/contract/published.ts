import { openApiDocument } from '../../src/contract/openapi.ts';
import { type OperationName, operations } from '../../src/contract/operations.ts';
import { operationOf } from './call.ts';

/** As much of JSON Schema as the contract uses. */
export type Schema = {
  $ref?: string;
  type?: string | string[];
  const?: unknown;
  enum?: unknown[];
  not?: Schema;
  anyOf?: Schema[];
  oneOf?: Schema[];
  allOf?: Schema[];
  properties?: Record<string, Schema>;
  required?: string[];
  additionalProperties?: boolean | Schema;
  items?: Schema;
  format?: string;
  pattern?: string;
  minLength?: number;
  maxLength?: number;
  minItems?: number;
  maxItems?: number;
  minimum?: number;
  maximum?: number;
  'x-max-bytes'?: number;
};

type Parameter = { name: string; in: 'path' | 'query' | 'header'; required?: boolean; schema: Schema };
/** Bytes of any type have no schema. */
type Content = { content: { 'application/json'?: { schema: Schema } } };
type AnyContent = { content: Record<string, { schema: Schema }> };
type Described = {
  security: Record<string, string[]>[];
  parameters?: Parameter[];
  requestBody?: Content;
  responses: Record<string, AnyContent & { headers?: Record<string, { schema: { enum: string[] } }> }>;
};

/** What the service publishes about itself; tests that read it find out when it says something else than it does. */
export const document = openApiDocument(operations, { baseUrl: 'http://service.example', version: '0' });

const schemas = (document as { components: { schemas: Record<string, Schema> } }).components.schemas;

export function describedOf(name: OperationName): Described {
  const { method, path } = operationOf(name);
  const paths = document.paths as Record<string, Record<string, Described>>;
  const described = paths[path]?.[method.toLowerCase()];
  if (!described) throw new Error(`${name} is not in the document`);
  return described;
}

export function bodySchema(name: OperationName): Schema | null {
  const body = describedOf(name).requestBody;
  const schema = body?.content['application/json']?.schema;
  return schema ? resolve(schema) : null;
}

export function parametersOf(name: OperationName, place: Parameter['in']): Parameter[] {
  return (describedOf(name).parameters ?? []).filter((parameter) => parameter.in === place);
}

/** The schema that a reference points at. */
export function resolve(schema: Schema): Schema {
  const name = schema.$ref?.replace('#/components/schemas/', '');
  const found = name === undefined ? schema : schemas[name];
  if (!found) throw new Error(`${schema.$ref} points at nothing`);
  return found === schema ? schema : resolve(found);
}

/** The schemas of which a value may follow any. */
export function branchesOf(schema: Schema): Schema[] {
  const { anyOf, oneOf, ...rest } = resolve(schema);
  const alternatives = anyOf ?? oneOf;
  if (!alternatives) return [rest];
  return alternatives.flatMap(branchesOf).map((branch) => ({ ...rest, ...branch }));
}

export function isIdSchema(schema: Schema): boolean {
  return branchesOf(schema).some((branch) => branch.format === 'uuid' || branch.format === 'guid');
}
