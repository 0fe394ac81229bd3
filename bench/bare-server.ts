/**
 * The yardstick: Fastify and pg, no contract, no key check, no limits. Answers GET /:id with the same
 * statement, prepared, and the same JSON as the service's GET /v1/environments/{id}.
 * Usage: node bench/bare-server.ts <database url> <port> <organization id>
 */
import Fastify from 'fastify';
import pg from 'pg';

const [url, port, organizationId] = process.argv.slice(2);
const pool = new pg.Pool({ connectionString: url, max: 20 });
const count = (table: string, name: string) =>
  `(select count(*)::int from ${table} attached where attached.environment_id = environment.id) as ${name}`;
const text = `select *, ${count('environment_variable', 'variable_count')}, ${count('environment_file', 'file_count')},
  ${count('environment_skill', 'skill_count')}, ${count('environment_mcp', 'mcp_count')}
  from environment where organization_id = $1 and id = $2`;

const app = Fastify({ logger: false });
app.get<{ Params: { id: string } }>('/:id', async (request) => {
  const { rows } = await pool.query({ name: 'read', text, values: [organizationId, request.params.id] });
  return { environment: rows[0] };
});
await app.listen({ host: '127.0.0.1', port: Number(port) });
