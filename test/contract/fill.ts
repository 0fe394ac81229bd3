import type pg from 'pg';

/** More than any limit of the service, so that what is filled takes nothing more. */
const ROWS = 2_000;

const at = { created_at: 'now()', updated_at: 'now()' };
const secret = "'\\x00'";

/** The columns that a row of each table needs, `i` being its number. */
const columns = {
  automation: { name: "'a' || i", ...at },
  environment: { name: "'e' || i", ...at },
  environment_variable: { key: "'K' || i", value: secret, ...at },
  environment_file: { name: "'f'", path: "'~/f' || i", content: secret, ...at },
  environment_skill: { name: "'s'", slug: "'s' || i", source: "'https://s.example/' || i", ...at },
  environment_mcp: { name: "'m' || i", transport: "'stdio'", config: secret, ...at },
  skill_registry: {
    name: "'r'",
    url: "'https://r.example/r' || i",
    url_key: "'https://r.example/r' || i",
    repository_full_name: "'r'",
    ...at,
  },
  repository_credential: { name: "'c' || i", username: "'git'", secret, created_at: 'now()' },
  repository: {
    name: "'r' || i",
    url: "'https://r.example/r' || i",
    url_key: "'https://r.example/r' || i",
    status: "'ready'",
    checked_at: 'now()',
    ...at,
  },
  git_host: { host: "'h' || i", kind: "'gitlab'", api_url: "'https://h.example'", updated_at: 'now()' },
  repository_set: { name: "'s' || i", ...at },
  chat: { provider: "'claude'", ...at },
  message: { position: 'i', state: "'queued'", text: "'hello'", created_at: 'now()' },
  api_key: {
    name: "'k'",
    prefix: "'rs_'",
    hash: 'sha256(gen_random_uuid()::text::bytea)',
    created_at: 'now()',
  },
  invitation: {
    email: "'i' || i || '@example.com'",
    role: "'member'",
    status: "'pending'",
    expires_at: "now() + interval '1 day'",
  },
} as const satisfies Record<string, Record<string, string>>;

/** Puts rows straight into a table, since thousands of requests would say no more; `owners` are the ids they belong to. */
export async function fill(
  pool: pg.Pool,
  table: keyof typeof columns,
  owners: Record<string, string>,
): Promise<void> {
  const given: Record<string, string> = columns[table];
  const names = ['id', ...Object.keys(owners), ...Object.keys(given)];
  const values = [
    'gen_random_uuid()',
    ...Object.keys(owners).map((_, index) => `$${index + 1}::uuid`),
    ...Object.values(given),
  ];
  await pool.query(
    `insert into ${table} (${names.join()}) select ${values.join()} from generate_series(1, ${ROWS}) i`,
    Object.values(owners),
  );
}
