import { createReadStream } from 'node:fs';
import { rm } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import type { EngineContext, GatewayAnswer, GatewayRequest } from './context.ts';
import type { Inspection } from './git-inspect.ts';
import { openSandboxState } from './sandbox-state.ts';
import { commitShadow, writeBundle } from './shadow-bundle.ts';
import { type ShadowHead, writeShadowHeaders } from './shadow-head.ts';
import { temporaryFile } from './temporary-file.ts';

/** Copies the work of one repository out; returns why it cannot be, if so. Fails only when the gateway is away. */
export type KeepShadow = (inspection: Inspection, signal: AbortSignal) => Promise<string | null>;

/** The work of each repository that no git host has, kept by the gateway, from which a lost disk is rebuilt. */
export function createShadows(context: EngineContext): KeepShadow {
  const uploaded = openSandboxState(context, {
    name: 'shadows',
    isEntry: (value) => typeof value === 'string',
  });

  return async ({ state, found }, signal) => {
    if (found === null) return state.shadowProblem;
    const { id, branch, head, baseCommit: base } = state;
    const content = JSON.stringify({ base, head, branch, tree: found.tree });
    if (uploaded.entries.get(id) === content) return state.shadowProblem;
    const shadow = await commitShadow(found.git, { tree: found.tree, head });
    const bundle = await temporaryFile(context, 'bundle');
    try {
      const size = await writeBundle(found.git, { shadow, head, base, file: bundle });
      if (size === null) return tooLarge;
      const answer = await upload({
        context,
        id,
        head: { base, head, shadow, branch },
        bundle,
        size,
        signal,
      });
      if (answer.status >= 300)
        return `The uncommitted work was not taken by the service (${answer.status}).`;
    } finally {
      await rm(bundle, { force: true });
    }
    uploaded.entries.set(id, content);
    uploaded.save();
    return state.shadowProblem;
  };
}

const tooLarge =
  'The work that is not in the repository it came from is too large to be kept outside. Push it, or ignore large files.';

async function upload(options: {
  context: EngineContext;
  id: string;
  head: ShadowHead;
  bundle: string;
  size: number;
  signal: AbortSignal;
}): Promise<GatewayAnswer> {
  const { context, id, head, bundle, size, signal } = options;
  return untilAnswered(context, () => ({
    method: 'PUT',
    path: `/engine/shadow/${id}`,
    headers: {
      ...writeShadowHeaders(head),
      'content-type': 'application/octet-stream',
      'content-length': String(size),
    },
    body: size === 0 ? Buffer.alloc(0) : createReadStream(bundle),
    signal,
  }));
}

/** The gateway may be starting anew: no answer and 5xx are asked again until the signal ends it. */
export async function untilAnswered(
  context: EngineContext,
  makeRequest: () => GatewayRequest & { signal: AbortSignal },
): Promise<GatewayAnswer> {
  for (let pauseMs = 100; ; pauseMs = Math.min(2 * pauseMs, 5_000)) {
    const request = makeRequest();
    request.signal.throwIfAborted();
    const answer = await context.gateway.request(request).catch((error: Error) => error);
    if (!(answer instanceof Error) && answer.status < 500 && answer.status !== 429) return answer;
    const reason = answer instanceof Error ? answer.message : `status ${answer.status}`;
    context.log(`${request.method} ${request.path} is tried again: ${reason}`);
    await delay(pauseMs, null, { signal: request.signal });
  }
}
