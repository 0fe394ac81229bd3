import { AppError } from '../contract/error.ts';
import { isStrict } from '../contract/message.ts';
import type { previewOperations } from '../contract/preview.ts';
import type { Db } from '../db/database.ts';
import { secretIn } from '../gateway/admit.ts';
import type { Handlers } from '../http/handler.ts';
import type { SandboxIdentity, SandboxService } from '../sandbox/service.ts';
import { TOKEN_PARAMETER } from './address.ts';
import type { Passes } from './pass.ts';
import type { PreviewService, Registered } from './service.ts';

type Parts = {
  previews: PreviewService;
  passes: Passes;
  browserUrlOf: (preview: { replicaId: string; port: number }) => string;
  sandboxes: Pick<SandboxService, 'identify'>;
};

export function previewHandlers({
  previews,
  passes,
  browserUrlOf,
  sandboxes,
}: Parts): Handlers<typeof previewOperations> {
  const strictly = ({ prefer }: { prefer?: string | undefined }) => ({ isStrict: isStrict(prefer) });

  async function identify(db: Db, authorization: string | undefined): Promise<SandboxIdentity> {
    const secret = secretIn(authorization);
    const identity = secret === null ? null : await sandboxes.identify(db, secret);
    if (identity) return identity;
    const sentence = 'Send the engine secret of the replica as "Authorization: Bearer <secret>".';
    throw new AppError('unauthenticated', sentence);
  }

  return {
    async listPreviews({ db, caller, params, headers }) {
      return {
        status: 200,
        body: { previews: await previews.list(db, caller, { ...params, ...strictly(headers) }) },
      };
    },
    async createPreview({ db, caller, params, headers, body }) {
      const asked = { ...params, ...strictly(headers), port: body.port, isPublic: body.public };
      return answerOf(await previews.register(db, caller, asked));
    },
    async createPreviewLink({ db, caller, params, headers }) {
      const preview = await previews.find(db, caller, { ...params, ...strictly(headers) });
      const { pass, expiresAt } = passes.issue('link', preview);
      const place = browserUrlOf({ replicaId: preview.replica_id, port: preview.port });
      const url = `${place}?${TOKEN_PARAMETER}=${pass}`;
      return { status: 201, body: { link: { url, expiresAt: expiresAt.toISOString() } } };
    },
    async deletePreview({ db, caller, params, headers }) {
      await previews.remove(db, caller, { ...params, ...strictly(headers) });
      return { status: 200, body: { success: true, port: params.port } };
    },
    async createOwnPreview({ db, params, headers }) {
      const identity = await identify(db, headers.authorization);
      const replicaId = headers['x-workspace-id'];
      return answerOf(await previews.registerFromInside(db, { ...params, identity, replicaId }));
    },
    async deleteOwnPreview({ db, params, headers }) {
      const identity = await identify(db, headers.authorization);
      const replicaId = headers['x-workspace-id'];
      await previews.removeFromInside(db, { ...params, identity, replicaId });
      return { status: 200, body: { success: true, port: params.port } };
    },
  };
}

function answerOf({ preview, isNew }: Registered) {
  return { status: isNew ? 201 : 200, body: { preview } } as const;
}
