import type { egressOperations } from '../contract/egress.ts';
import type { Handlers } from '../http/handler.ts';
import type { ReplicaService } from '../replica/service.ts';
import type { EgressService, EgressSetting } from './service.ts';

type Parts = { egress: EgressService; replicas: Pick<ReplicaService, 'find'> };

export function egressHandlers({ egress, replicas }: Parts): Handlers<typeof egressOperations> {
  return {
    async getEgressPolicy({ db, caller, params }) {
      return { status: 200, body: { egress: present(await egress.read(db, caller, params.environmentId)) } };
    },
    async setEgressPolicy({ db, caller, params, body }) {
      return { status: 200, body: { egress: present(await egress.set(db, caller, { ...params, ...body })) } };
    },
    async listEgressContacts({ db, caller, params }) {
      const replica = await replicas.find(db, caller, params.id);
      const contacts = (await egress.contactsOf(db, replica.id)).map((row) => ({
        host: row.host,
        port: row.port,
        allowed: row.is_allowed,
        reason: row.reason,
        count: Number(row.times),
        first_at: row.first_at.toISOString(),
        last_at: row.last_at.toISOString(),
      }));
      return { status: 200, body: { contacts } };
    },
  };
}

function present(setting: EgressSetting) {
  return { ...setting, effective: { ...setting.effective, hosts: [...setting.effective.hosts] } };
}
