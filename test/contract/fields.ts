import { branchesOf, type Schema } from './published.ts';

export type Step = string | number;

/** One place in a body that the contract describes. */
export type Field = { path: Step[]; schema: Schema; isRequired: boolean };

export type JsonType = 'null' | 'boolean' | 'integer' | 'number' | 'string' | 'array' | 'object';

/** Every field of a body, of what is nested in it, and the first entry of each list; `example` decides between shapes. */
export function fieldsOf(schema: Schema, example: unknown, path: Step[] = []): Field[] {
  const branch = branchesOf(schema).find((one) => fits(one, example));
  if (!branch) return [];
  const below = (step: Step, inner: Schema, isRequired: boolean): Field[] => {
    const value = (example as Record<Step, unknown>)[step];
    const field = { path: [...path, step], schema: inner, isRequired };
    return value === undefined ? [field] : [field, ...fieldsOf(inner, value, field.path)];
  };
  if (Array.isArray(example)) {
    return branch.items && example.length > 0 ? below(0, branch.items, false) : [];
  }
  if (typeof example !== 'object' || example === null) return [];
  const { properties = {}, required = [], additionalProperties: others } = branch;
  const named = Object.entries(properties).flatMap(([name, inner]) =>
    below(name, inner, required.includes(name)),
  );
  if (typeof others !== 'object') return named;
  const free = Object.keys(example).filter((name) => !(name in properties));
  return [...named, ...free.flatMap((name) => below(name, others, false))];
}

/** The JSON types that a value may have. */
export function typesOf(schema: Schema): Set<JsonType> {
  const types = branchesOf(schema).flatMap((branch): JsonType[] => {
    if (branch.not) return [];
    if (branch.const !== undefined) return [typeOf(branch.const)];
    if (branch.enum) return branch.enum.map(typeOf);
    return [branch.type ?? everyType].flat() as JsonType[];
  });
  return new Set(types.includes('number') ? [...types, 'integer'] : types);
}

/** A copy of the body with another value at one place; `undefined` takes the field away. */
export function withField(body: unknown, [step, ...rest]: Step[], value: unknown): unknown {
  if (step === undefined) return value;
  const copy = Array.isArray(body) ? [...body] : { ...(body as object) };
  const inner = (copy as Record<Step, unknown>)[step];
  (copy as Record<Step, unknown>)[step] = withField(inner, rest, value);
  return copy;
}

export const everyType: JsonType[] = ['null', 'boolean', 'integer', 'number', 'string', 'array', 'object'];

/** Whether the value is of this shape, as far as shapes differ from each other in the contract. */
function fits(schema: Schema, value: unknown): boolean {
  if (!typesOf(schema).has(typeOf(value))) return false;
  const closed = Object.entries(schema.properties ?? {}).filter(
    ([, { const: only, enum: some }]) => only !== undefined || some,
  );
  return closed.every(([name, { const: only, enum: some }]) => {
    const inner = (value as Record<string, unknown>)[name];
    return inner === undefined || (some ? some.includes(inner) : inner === only);
  });
}

function typeOf(value: unknown): JsonType {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  if (typeof value === 'number') return Number.isInteger(value) ? 'integer' : 'number';
  return typeof value as JsonType;
}
