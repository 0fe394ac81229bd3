import type { IncomingMessage, ServerResponse } from 'node:http';
import { AppError, notFound } from '../contract/error.ts';
import { previewOperations } from '../contract/preview.ts';
import type { Db } from '../db/database.ts';
import { transact } from '../db/transact.ts';
import type { GatewayRoute } from '../gateway/server.ts';
import type { SandboxIdentity } from '../sandbox/service.ts';
import type { PreviewService } from './service.ts';

const prefix = '/v1/previews/';
const { params } = previewOperations.createOwnPreview;
const workspaceHeader = previewOperations.createOwnPreview.headers.shape['x-workspace-id'].optional();

/**
 * The agent mode of previews for programs inside a sandbox, which need not reach the service by its public address. The
 * gateway knows whose sandbox it is, so the id of the replica may be left out.
 */
export function createPreviewRoute({ db, previews }: { db: Db; previews: PreviewService }): GatewayRoute {
  async function handle(
    request: IncomingMessage,
    response: ServerResponse,
    identity: SandboxIdentity,
  ): Promise<void> {
    const path = params.safeParse({ port: request.url?.split('?', 1)[0]?.slice(prefix.length) });
    const replicaId = workspaceHeader.safeParse(request.headers['x-workspace-id']);
    if (!path.success) throw notFound('Path');
    if (!replicaId.success) {
      throw new AppError('invalid_request', 'X-Workspace-Id must be the id of the replica, or absent.');
    }
    const inside = { ...path.data, identity, replicaId: replicaId.data ?? null };
    if (request.method === 'POST') {
      const { preview, isNew } = await transact(db, (tx) => previews.registerFromInside(tx, inside));
      return answer(response, isNew ? 201 : 200, { preview });
    }
    if (request.method !== 'DELETE') throw notFound('Path');
    await transact(db, (tx) => previews.removeFromInside(tx, inside));
    answer(response, 200, { success: true, port: inside.port });
  }

  return { prefix, handle };
}

function answer(response: ServerResponse, status: number, body: object): void {
  // A body that nobody has asked for is not read to its end.
  const ending = response.req.complete ? {} : { connection: 'close' };
  response
    .writeHead(status, { 'content-type': 'application/json; charset=utf-8', ...ending })
    .end(JSON.stringify(body));
}
