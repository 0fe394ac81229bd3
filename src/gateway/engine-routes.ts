import type { IncomingMessage, ServerResponse } from 'node:http';
import { finished } from 'node:stream/promises';
import type { CanvasService } from '../canvas/service.ts';
import type { Db } from '../db/database.ts';
import { engineLimits } from '../engine/limits.ts';
import { isStorableText } from '../lib/text.ts';
import type { ShadowService } from '../replica/shadow.ts';
import type { SandboxIdentity } from '../sandbox/service.ts';
import type { createEngineEvents } from './engine-events.ts';
import { createUploads } from './engine-uploads.ts';
import { readBody, TooLargeError } from './read-body.ts';

type Parts = {
  db: Db;
  events: ReturnType<typeof createEngineEvents>;
  canvas: Pick<CanvasService, 'keep' | 'forget'>;
  shadows: ShadowService;
};
type Call = { request: IncomingMessage; response: ServerResponse; identity: SandboxIdentity };

const COMMIT = /^[0-9a-f]{40}([0-9a-f]{24})?$/;
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const MAX_BRANCH_CHARACTERS = 1_000;
/** How long an engine may take to read the largest answer. */
const ANSWER_LIMIT_MS = 20_000;

/** What an engine sends besides git and the proxy: its events and what is kept of its workspace. */
export function createEngineRoutes({ db, events, canvas, shadows }: Parts) {
  const uploads = createUploads();

  return async function handle(
    request: IncomingMessage,
    response: ServerResponse,
    identity: SandboxIdentity,
  ): Promise<void> {
    const call = { request, response, identity };
    try {
      const [, , resource = '', encoded = ''] = (request.url ?? '').split('?')[0]?.split('/') ?? [];
      const route = `${request.method} ${resource}`;
      if (route === 'GET state') return answer(response, 200, await events.state(identity));
      if (route === 'POST events') return await takeEvents(call);
      const { replicaId } = identity;
      const name = decode(encoded);
      // A workspace that nobody has claimed yet has nothing worth keeping.
      if (!replicaId || name === null) return answer(response, 404, { error: 'There is nothing here.' });
      if (route === 'PUT canvas') return await putCanvas(call, { replicaId, filename: name });
      if (route === 'DELETE canvas') {
        await canvas.forget(db, { replicaId, filename: name });
        return answer(response, 204);
      }
      if (!UUID.test(name)) return answer(response, 404, { error: 'There is nothing here.' });
      const key = { replicaId, repositoryId: name };
      if (route === 'PUT shadow') return await putShadow(call, key);
      if (route === 'GET shadow') return await getShadow(call, key);
      answer(response, 404, { error: 'There is nothing here.' });
    } catch (error) {
      if (error instanceof TooLargeError) {
        response.setHeader('connection', 'close');
        answer(response, 413, { error: error.message });
      } else throw error;
    }
  };

  /** Reads the body when there is room for it, and keeps the room until it is dealt with. */
  function withBody(
    { request, response, identity: { sandboxId } }: Call,
    maxBytes: number,
    take: (body: Buffer) => Promise<void>,
  ): Promise<void> {
    const announced = request.headers['content-length'];
    const bytes = Math.min(announced === undefined ? maxBytes : Number(announced), maxBytes);
    return uploads.hold({ sandboxId, bytes, response }, async () =>
      take(await readBody(request, { maxBytes })),
    );
  }

  function takeEvents(call: Call): Promise<void> {
    return withBody(call, engineLimits.batchBytes + 1_000_000, async (body) => {
      const { status, ...result } = await events.take(call.identity, parseJson(body));
      answer(call.response, status, result);
    });
  }

  async function putCanvas(call: Call, key: { replicaId: string; filename: string }): Promise<void> {
    const size = call.request.headers['x-size-bytes'];
    if (size !== undefined && !/^\d{1,15}$/.test(String(size))) {
      return answer(call.response, 400, { error: 'x-size-bytes is not a number of bytes.' });
    }
    await withBody(call, size === undefined ? engineLimits.canvasItemBytes : 0, async (body) => {
      const item = size === undefined ? { sizeBytes: body.length, content: body } : sizeAlone(Number(size));
      const isKept = await canvas.keep(db, { ...key, ...item });
      answer(call.response, isKept ? 204 : 409, isKept ? undefined : { error: 'The item is not kept.' });
    });
  }

  async function putShadow(call: Call, key: { replicaId: string; repositoryId: string }): Promise<void> {
    const { headers } = call.request;
    const commits = ['x-base-commit', 'x-head-commit', 'x-shadow-commit'].map((name) =>
      String(headers[name] ?? ''),
    );
    const [base = '', head = '', shadow = ''] = commits;
    const branch = decode(String(headers['x-branch'] ?? ''))?.slice(0, MAX_BRANCH_CHARACTERS);
    if (!commits.every((commit) => COMMIT.test(commit)) || branch === undefined || !isStorableText(branch)) {
      return answer(call.response, 400, { error: 'The headers do not name commits and a branch.' });
    }
    if (!(await shadows.isWanted(db, key))) {
      return answer(call.response, 404, { error: 'The replica has no such repository.' });
    }
    await withBody(call, engineLimits.shadowBytes, async (bundle) => {
      await shadows.keep(db, {
        replica_id: key.replicaId,
        repository_id: key.repositoryId,
        base_commit: base,
        head_commit: head,
        shadow_commit: shadow,
        branch: branch || null,
        bundle,
      });
      answer(call.response, 204);
    });
  }

  /** What is read takes as much room as what is sent, until the engine has it. */
  function getShadow(
    { response, identity: { sandboxId } }: Call,
    key: { replicaId: string; repositoryId: string },
  ): Promise<void> {
    return uploads.hold({ sandboxId, bytes: engineLimits.shadowBytes, response }, async () => {
      const row = await shadows.find(db, key);
      if (!row) return answer(response, 404, { error: 'Nothing of this repository is kept.' });
      const timer = setTimeout(() => response.destroy(), ANSWER_LIMIT_MS);
      response
        .writeHead(200, {
          'content-type': 'application/octet-stream',
          'content-length': row.bundle.length,
          'x-base-commit': row.base_commit,
          'x-head-commit': row.head_commit,
          'x-shadow-commit': row.shadow_commit,
          'x-branch': encodeURIComponent(row.branch ?? ''),
        })
        .end(row.bundle);
      // An engine that goes away in between asks again.
      await finished(response).catch(() => {});
      clearTimeout(timer);
    });
  }
}

function sizeAlone(sizeBytes: number): { sizeBytes: number; content: null } {
  return { sizeBytes, content: null };
}

function answer(response: ServerResponse, status: number, body?: object): void {
  const text = body === undefined ? '' : JSON.stringify(body);
  response.writeHead(status, text ? { 'content-type': 'application/json' } : {}).end(text);
}

function parseJson(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString());
  } catch {
    return null;
  }
}

function decode(text: string): string | null {
  try {
    return decodeURIComponent(text);
  } catch {
    return null;
  }
}
