import type { CompiledQuery, Kysely } from 'kysely';
import type { Db } from './database.ts';
import type { DB } from './schema.ts';

type Runner = (text: string, values: readonly unknown[]) => Promise<unknown[]>;
const runners = new WeakMap<object, Runner>();

/** Lets prepared queries on this pool, though not on its transactions, go past the layers of the query builder. */
export function runDirectly(db: Kysely<DB>, runner: Runner): void {
  runners.set(db, runner);
}

type Compilable<Row> = { compile(): CompiledQuery<Row> };

/**
 * A query that is built and compiled once and then run with other values: building costs more than PostgreSQL
 * needs for a read by key. For the few queries that stand in the way of every request.
 */
export function prepared<const Name extends string, Row>(
  names: readonly Name[],
  build: (db: Kysely<DB>, values: Record<Name, string>) => Compilable<Row>,
): (db: Db, values: Record<Name, string | Buffer>) => Promise<Row[]> {
  let plan: { query: CompiledQuery<Row>; order: Name[] } | null = null;
  return async (db, values) => {
    plan ??= compile(db, names, build);
    const parameters = plan.order.map((name) => values[name]);
    const direct = runners.get(db);
    if (direct) return (await direct(plan.query.sql, parameters)) as Row[];
    return (await db.executeQuery<Row>({ ...plan.query, parameters })).rows;
  };
}

function compile<Name extends string, Row>(
  db: Db,
  names: readonly Name[],
  build: (db: Kysely<DB>, values: Record<Name, string>) => Compilable<Row>,
): { query: CompiledQuery<Row>; order: Name[] } {
  // The names themselves stand in for the values, so that the compiled query tells which value goes where.
  const placeholders = Object.fromEntries<string>(names.map((name) => [name, name])) as Record<Name, string>;
  const query = build(db, placeholders).compile();
  const order = query.parameters.map((parameter) => parameter as Name);
  const unknown = order.filter((name) => !names.includes(name));
  if (unknown.length > 0) throw new Error('a prepared query may hold no value besides the named ones');
  return { query, order };
}
