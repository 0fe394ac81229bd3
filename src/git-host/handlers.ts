import type { gitHostOperations } from '../contract/git-host.ts';
import type { Handlers } from '../http/handler.ts';
import type { GitHostKind } from './host.ts';
import type { GitHostService } from './service.ts';
import type { GitHostRow } from './store.ts';

export function gitHostHandlers(hosts: GitHostService): Handlers<typeof gitHostOperations> {
  return {
    async listGitHosts({ db, caller }) {
      return { status: 200, body: { git_hosts: (await hosts.list(db, caller)).map(present) } };
    },
    async setGitHost({ db, caller, params, body }) {
      const row = await hosts.set(db, caller, {
        host: params.host,
        kind: body.kind,
        apiUrl: body.api_url,
        webhookSecret: body.webhook_secret,
      });
      return { status: 200, body: { git_host: present(row) } };
    },
    async deleteGitHost({ db, caller, params }) {
      await hosts.remove(db, caller, params.host);
      return { status: 200, body: { success: true } };
    },
  };
}

function present({ host, kind, api_url, webhook_secret, updated_at }: GitHostRow) {
  return {
    host,
    kind: kind as GitHostKind,
    api_url,
    has_webhook_secret: webhook_secret !== null,
    updated_at: updated_at.toISOString(),
  };
}
