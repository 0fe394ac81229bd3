import { Readable } from 'node:stream';
import { notFound } from '../contract/error.ts';
import type { hookLogOperations } from '../contract/hook-log.ts';
import { isStrict } from '../contract/message.ts';
import type { HandlerRequest, Handlers } from '../http/handler.ts';
import { requireServed } from '../replica/admission.ts';
import type { ReplicaService } from '../replica/service.ts';
import { findLogId, listLogs, readOutput } from './logs.ts';
import { presentLogs } from './present.ts';

type Operations = typeof hookLogOperations;
type Parts = { replicas: Pick<ReplicaService, 'find'> };

export function hookLogHandlers({ replicas }: Parts): Handlers<Operations> {
  async function ownerOf({ db, caller, params, headers }: HandlerRequest<Operations[keyof Operations]>) {
    const row = await replicas.find(db, caller, params.id);
    requireServed(row.state, { isStrict: isStrict(headers.prefer) });
    return { replicaId: row.id, warmWorkspaceId: row.warm_workspace_id };
  }

  return {
    async listHookLogs(request) {
      return { status: 200, body: presentLogs(await listLogs(request.db, await ownerOf(request))) };
    },

    async getHookOutput(request) {
      const { db, params } = request;
      const owner = await ownerOf(request);
      const isPlace = /^\d{1,9}$/.test(params.index);
      const runId = isPlace ? await findLogId(db, owner, Number(params.index)) : null;
      if (runId === null) throw notFound('Hook log');
      return { status: 200, body: Readable.from(readOutput(db, runId)) };
    },
  };
}
