import type { Caller } from '../account/caller.ts';
import { AppError } from '../contract/error.ts';
import type { Db } from '../db/database.ts';
import type { EnvironmentService } from '../environment/service.ts';
import { defaultEgressHosts } from '../gateway/egress-hosts.ts';
import { type EgressPolicy, isEgressPattern } from '../gateway/egress-policy.ts';
import * as store from './store.ts';

type Parts = {
  environments: Pick<EnvironmentService, 'find' | 'hold'>;
  /** What the operator has set. */
  operator: EgressPolicy;
};
export type EgressSetting = { mode: EgressPolicy['mode'] | null; hosts: string[]; effective: EgressPolicy };
export type EgressService = ReturnType<typeof createEgressService>;

/** What workspaces may reach: the operator's rule, under the Global environment's, under the named one's. */
export function createEgressService({ environments, operator }: Parts) {
  async function policyOf(
    db: Db,
    wanted: { organizationId: string; environmentId: string | null },
  ): Promise<EgressPolicy> {
    // Without its environment nobody knows what a sandbox may reach.
    if (wanted.environmentId === null) return { mode: 'none', hosts: [] };
    const rows = await store.selectPolicies(db, wanted);
    const named = rows.find((row) => !row.is_global);
    const global = rows.find((row) => row.is_global);
    const mode = (named?.egress_mode ?? global?.egress_mode ?? operator.mode) as EgressPolicy['mode'];
    const hosts = rows.flatMap((row) => row.egress_hosts);
    return { mode, hosts: [...new Set([...defaultEgressHosts, ...operator.hosts, ...hosts])] };
  }

  async function read(db: Db, caller: Caller, environmentId: string): Promise<EgressSetting> {
    const environment = await environments.find(db, caller, environmentId);
    return {
      mode: environment.egress_mode as EgressSetting['mode'],
      hosts: environment.egress_hosts,
      effective: await policyOf(db, {
        organizationId: caller.organizationId,
        environmentId: environment.id,
      }),
    };
  }

  async function set(
    db: Db,
    caller: Caller,
    wanted: { environmentId: string; mode: EgressSetting['mode']; hosts: readonly string[] },
  ): Promise<EgressSetting> {
    const hosts = [...new Set(wanted.hosts.map((host) => host.trim().toLowerCase()))];
    const wrong = hosts.find((host) => !isEgressPattern(host));
    if (wrong !== undefined) {
      throw new AppError(
        'invalid_request',
        `"${wrong}" is no host: use example.com, *.example.com or an address, with :port or without.`,
      );
    }
    const environment = await environments.hold(db, caller, wanted.environmentId);
    await store.updatePolicy(db, environment.id, { egress_mode: wanted.mode, egress_hosts: hosts });
    return read(db, caller, environment.id);
  }

  return { policyOf, read, set, contactsOf: store.selectContacts };
}
