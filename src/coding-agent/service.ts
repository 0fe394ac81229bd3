import type { z } from 'zod';
import type { Caller } from '../account/caller.ts';
import { codingAgentName } from '../contract/coding-agent.ts';
import { AppError } from '../contract/error.ts';
import type { Db } from '../db/database.ts';
import type { Sealer } from '../secret/seal.ts';
import { sealedContext } from '../secret/sealed-columns.ts';
import { parseBaseUrl } from './base-url.ts';
import * as store from './store.ts';

type Parts = {
  sealer: Sealer;
  allowPrivateTargets: boolean;
  newId: () => string;
  now: () => Date;
};

type CodingAgentName = z.output<typeof codingAgentName>;

/** What may be shown of an agent's settings. */
export type CodingAgent = {
  agent: CodingAgentName;
  configured: boolean;
  apiKeyHint: string | null;
  baseUrl: string | null;
  updatedAt: Date | null;
};
export type CodingAgentService = ReturnType<typeof createCodingAgentService>;

const HINT_CHARACTERS = 4;
/** A shorter key would be given away by its end. */
const MIN_KEY_FOR_HINT = 16;

export function createCodingAgentService({ sealer, allowPrivateTargets, newId, now }: Parts) {
  async function list(db: Db, caller: Pick<Caller, 'organizationId'>): Promise<CodingAgent[]> {
    const rows = await store.selectSettings(db, caller.organizationId);
    return codingAgentName.options.map((agent) =>
      show(
        agent,
        rows.find((row) => row.agent === agent),
      ),
    );
  }

  async function read(db: Db, caller: Caller, agent: CodingAgentName): Promise<CodingAgent> {
    return show(agent, await store.selectSetting(db, { organizationId: caller.organizationId, agent }));
  }

  async function set(
    db: Db,
    caller: Caller,
    wanted: { agent: CodingAgentName; apiKey: string; baseUrl: string | null },
  ): Promise<CodingAgent> {
    const id = newId();
    const at = now();
    const row = await store.upsertSetting(db, {
      id,
      organization_id: caller.organizationId,
      agent: wanted.agent,
      api_key: sealer.seal(wanted.apiKey, context(id)),
      base_url: wanted.baseUrl === null ? null : acceptBaseUrl(wanted.baseUrl),
      created_at: at,
      updated_at: at,
    });
    return show(wanted.agent, row);
  }

  /** Removing what is not set is no error. */
  async function remove(db: Db, caller: Caller, agent: CodingAgentName): Promise<void> {
    await store.deleteSetting(db, { organizationId: caller.organizationId, agent });
  }

  function acceptBaseUrl(given: string): string {
    const { baseUrl, refusal } = parseBaseUrl(given, { allowPrivateTargets });
    if (baseUrl === null) throw new AppError('invalid_request', refusal);
    return baseUrl;
  }

  function show(agent: CodingAgentName, row: store.CodingAgentRow | undefined): CodingAgent {
    if (!row) return { agent, configured: false, apiKeyHint: null, baseUrl: null, updatedAt: null };
    const apiKeyHint = hint(sealer.open(row.api_key, context(row.id)));
    return { agent, configured: true, apiKeyHint, baseUrl: row.base_url, updatedAt: row.updated_at };
  }

  /** Whether the organization has a credential for the agent. */
  async function has(db: Db, key: { organizationId: string; agent: CodingAgentName }): Promise<boolean> {
    return (await store.selectSetting(db, key)) !== undefined;
  }

  /** The key itself and where it is for, for calls on behalf of the organization; null when there is none. */
  async function credentialOf(
    db: Db,
    key: { organizationId: string; agent: CodingAgentName },
  ): Promise<{ apiKey: string; baseUrl: string | null } | null> {
    const row = await store.selectSetting(db, key);
    return row ? { apiKey: sealer.open(row.api_key, context(row.id)), baseUrl: row.base_url } : null;
  }

  return { list, read, has, credentialOf, set, remove };
}

const context = (id: string) => sealedContext('coding_agent_setting', 'api_key', id);

function hint(apiKey: string): string | null {
  return apiKey.length < MIN_KEY_FOR_HINT ? null : apiKey.slice(-HINT_CHARACTERS);
}
