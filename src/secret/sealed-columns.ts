// Every sealed column of the database. Rotation walks this list, so a column that is missing here
// would become unreadable when an old key is taken away.

export interface SealedColumn {
  readonly table: string;
  /** The column that identifies a row. */
  readonly id: string;
  /** The bytea column that holds sealed values, or null. */
  readonly column: string;
  /** What the value of the row with this id is bound to. */
  context(id: string): string;
}

export const SEALED_COLUMNS: readonly SealedColumn[] = [
  sealedColumn('repository_credential', 'secret'),
  sealedColumn('environment_variable', 'value'),
  sealedColumn('environment_file', 'content'),
  sealedColumn('environment_mcp', 'config'),
  sealedColumn('coding_agent_setting', 'api_key'),
  sealedColumn('idempotency_record', 'answer'),
  sealedColumn('service_setting', 'value'),
  sealedColumn('replica', 'webhook_secret'),
  sealedColumn('sandbox', 'secret'),
  sealedColumn('installation_token', 'token'),
  sealedColumn('git_host', 'webhook_secret'),
  sealedColumn('automation', 'webhook_token'),
  sealedColumn('automation', 'webhook_secret'),
  sealedColumn('automation', 'callback_secret'),
];

/** Binds a sealed value to its place; sealing, opening and rotation all take the context from here. */
export function sealedContext(table: string, column: string, id: string): string {
  return `${table}.${column}:${id}`;
}

export function sealedColumn(table: string, column: string): SealedColumn {
  return { table, id: 'id', column, context: (id) => sealedContext(table, column, id) };
}
