import type { Caller } from '../account/caller.ts';
import { AppError, notFound } from '../contract/error.ts';
import { mcpTransport } from '../contract/mcp.ts';
import type { Db } from '../db/database.ts';
import { refusing } from '../db/violation.ts';
import type { EnvironmentService } from '../environment/service.ts';
import type { Sealer } from '../secret/seal.ts';
import { sealedContext } from '../secret/sealed-columns.ts';
import type { WarmPoolService } from '../warm-pool/service.ts';
import { type McpChange, type McpConfig, type McpTransport, resolveChange } from './change.ts';
import * as store from './store.ts';

type Parts = {
  environments: Pick<EnvironmentService, 'find' | 'hold'>;
  warmPools: Pick<WarmPoolService, 'bump' | 'bumpIfChanged'>;
  sealer: Sealer;
  newId: () => string;
  now: () => Date;
};
type Key = { environmentId: string; id: string };

/** An MCP server with its configuration in clear. */
export type Mcp = Omit<store.McpRow, 'transport' | 'config'> & { transport: McpTransport; config: McpConfig };
export type McpService = ReturnType<typeof createMcpService>;

const MAX_MCPS = 100;

export function createMcpService({ environments, warmPools, sealer, newId, now }: Parts) {
  async function list(db: Db, caller: Caller, environmentId: string): Promise<Mcp[]> {
    const environment = await environments.find(db, caller, environmentId);
    return (await store.selectMcps(db, environment.id)).map(open);
  }

  /** Of several environments at once, in clear, for who has found them in their organization. */
  async function ofEnvironments(db: Db, environmentIds: readonly string[]): Promise<Mcp[]> {
    return (await store.selectMcpsOf(db, environmentIds)).map(open);
  }

  async function read(db: Db, caller: Caller, wanted: Key): Promise<Mcp> {
    const environment = await environments.find(db, caller, wanted.environmentId);
    return open(await find(db, environment.id, wanted.id));
  }

  /** The contract has held the config against its transport. */
  async function create(
    db: Db,
    caller: Caller,
    wanted: { environmentId: string; name: string; transport: McpTransport; config: McpConfig },
  ): Promise<Mcp> {
    const environment = await environments.hold(db, caller, wanted.environmentId);
    if ((await store.countMcps(db, environment.id)) >= MAX_MCPS) {
      throw new AppError(
        'limit_reached',
        `An environment has at most ${MAX_MCPS} MCP servers; delete one first.`,
      );
    }
    const id = newId();
    const at = now();
    const row = {
      id,
      organization_id: caller.organizationId,
      environment_id: environment.id,
      name: wanted.name,
      transport: wanted.transport,
      config: seal(id, wanted.config),
      created_at: at,
      updated_at: at,
    };
    const made = await refusing(nameTaken(wanted.name), () => store.insertMcp(db, row));
    await warmPools.bump(db, environment);
    return open(made);
  }

  async function update(db: Db, caller: Caller, wanted: Key & McpChange & { name?: string }): Promise<Mcp> {
    const environment = await environments.hold(db, caller, wanted.environmentId);
    const row = await find(db, environment.id, wanted.id);
    const resolved = resolveChange(mcpTransport.parse(row.transport), wanted);
    if (resolved.refusal !== null) throw new AppError('invalid_request', resolved.refusal);
    // A config that was not given is left alone, so that a key rotation going on beside this is not undone.
    const changes = {
      name: wanted.name,
      transport: resolved.transport,
      config: resolved.config && seal(row.id, resolved.config),
      updated_at: now(),
    };
    const changed = await refusing(nameTaken(wanted.name ?? row.name), () =>
      store.updateMcp(db, row.id, changes),
    );
    const [before, after] = [open(row), open(changed)];
    await warmPools.bumpIfChanged(db, environment, { before: baked(before), after: baked(after) });
    return after;
  }

  async function remove(db: Db, caller: Caller, wanted: Key): Promise<void> {
    const environment = await environments.hold(db, caller, wanted.environmentId);
    const row = await find(db, environment.id, wanted.id);
    await store.deleteMcp(db, row.id);
    await warmPools.bump(db, environment);
  }

  async function find(db: Db, environmentId: string, id: string): Promise<store.McpRow> {
    const row = await store.selectMcp(db, { environmentId, id });
    if (!row) throw notFound('MCP server');
    return row;
  }

  const seal = (id: string, config: McpConfig) => sealer.seal(JSON.stringify(config), context(id));
  const open = (row: store.McpRow): Mcp => ({
    ...row,
    transport: mcpTransport.parse(row.transport),
    config: JSON.parse(sealer.open(row.config, context(row.id))),
  });

  return { list, ofEnvironments, read, create, update, remove };
}

const context = (id: string) => sealedContext('environment_mcp', 'config', id);

const nameTaken = (name: string) => ({
  environment_mcp_name_key: () =>
    new AppError(
      'already_exists',
      `The environment already has an MCP server "${name}"; change it with PATCH.`,
    ),
});

/** What of an MCP server is part of a workspace. */
const baked = ({ name, transport, config }: Mcp) => ({ name, transport, config });
