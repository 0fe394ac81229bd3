import type { canvasOperations } from '../contract/canvas.ts';
import { notFound } from '../contract/error.ts';
import { isStrict } from '../contract/message.ts';
import type { HandlerRequest, Handlers } from '../http/handler.ts';
import { requireServed } from '../replica/admission.ts';
import type { ReplicaService } from '../replica/service.ts';
import { presentContent, presentItem } from './present.ts';
import { type CanvasService, isItemName } from './service.ts';

type Operations = typeof canvasOperations;
type Parts = { canvas: Pick<CanvasService, 'list' | 'read'>; replicas: Pick<ReplicaService, 'find'> };

export function canvasHandlers({ canvas, replicas }: Parts): Handlers<Operations> {
  async function replicaOf({ db, caller, params, headers }: HandlerRequest<Operations[keyof Operations]>) {
    const row = await replicas.find(db, caller, params.id);
    requireServed(row.state, { isStrict: isStrict(headers.prefer) });
    return row.id;
  }

  return {
    async listCanvasItems(request) {
      const items = await canvas.list(request.db, await replicaOf(request));
      return { status: 200, body: { items: items.map(presentItem) } };
    },

    async getCanvasItem(request) {
      const { filename } = request.params;
      const replicaId = await replicaOf(request);
      const item = isItemName(filename) && (await canvas.read(request.db, { replicaId, filename }));
      if (!item) throw notFound('Canvas item');
      return { status: 200, body: presentContent(item) };
    },
  };
}
