import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Logger } from 'pino';
import { notFound } from '../contract/error.ts';
import type { CodingAgent } from '../contract/message.ts';
import type { Db } from '../db/database.ts';
import { type ModelAgent, type ModelApi, modelApis } from '../model/api.ts';
import type { ScriptedModel } from '../model/scripted/scripted-model.ts';
import type { TokenUsage } from '../model/usage.ts';
import type { SandboxIdentity } from '../sandbox/service.ts';
import { goneSignal, withoutIdleLimit } from './answer.ts';
import { MAX_MODEL_BODY_BYTES } from './model-body.ts';
import { answerModelRefusal, ModelRefusal } from './model-refusal.ts';
import { createModelUpstream } from './model-upstream.ts';
import { passAnswer } from './pass-answer.ts';
import { readBody, TooLargeError } from './read-body.ts';
import type { GatewayRoute } from './server.ts';
import { createCounter } from './slots.ts';

/** On whose behalf a model is asked. */
export type ModelAsker = {
  organizationId: string;
  replicaId: string;
  agent: ModelAgent;
  chatId: string;
  /** Null when nothing runs in the chat. */
  messageId: string | null;
};

type Credential = { apiKey: string; baseUrl: string | null };
type Parts = {
  db: Db;
  /** The turn that runs in a chat of the replica; undefined when the chat is not one of it. */
  turnOf(
    db: Db,
    key: { replicaId: string; chatId: string },
  ): Promise<{ messageId: string | null; provider: CodingAgent } | undefined>;
  credentialOf(db: Db, key: { organizationId: string; agent: CodingAgent }): Promise<Credential | null>;
  /** Answers where an organization has no credential; null when it is off. */
  offlineModel: ScriptedModel | null;
  /** A sentence when nothing more may be spent. */
  refuseSpending(db: Db, key: { replicaId: string }): Promise<string | null>;
  record(db: Db, asker: ModelAsker, usage: TokenUsage & { isOffline: boolean }): Promise<void>;
  allowPrivateTargets: boolean;
  log: Logger;
};
type Asked = {
  request: IncomingMessage;
  response: ServerResponse;
  api: ModelApi;
  /** As the agent has it, without the query. */
  path: string;
  asker: ModelAsker;
  /** Why nothing more may be spent. */
  refusal: string | null;
  credential: Credential | null;
  signal: AbortSignal;
};

const PREFIX = '/model/';
const address = /^\/model\/(claude|codex|opencode)\/([^/?]*)([^?]*)/;
const isId = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
/** More than all chats of a workspace ask at once; each has a part of an answer in memory. */
const MAX_AT_ONCE = 64;

/**
 * Leads agents to their models. The sandbox knows no key but its own; the organization's is added here. What an answer has
 * used is read off while it passes.
 */
export function createModelRoute(parts: Parts): GatewayRoute {
  const { db, offlineModel, log } = parts;
  const upstream = createModelUpstream(parts);
  const running = createCounter(MAX_AT_ONCE);

  async function handle(
    request: IncomingMessage,
    response: ServerResponse,
    { organizationId, replicaId, sandboxId }: SandboxIdentity,
  ): Promise<void> {
    const [, name, chatId = '', path = ''] = address.exec(request.url ?? '') ?? [];
    if (!name || !replicaId) throw notFound('Path');
    const agent = name as ModelAgent;
    const api = modelApis[agent];
    const leave = running.take(sandboxId);
    try {
      if (!leave) throw new ModelRefusal(429, 'This workspace asks for too much at once; try again shortly.');
      // All that decides is asked for at once: each question is a way to the database and back.
      const [turn, refusal, credential] = await Promise.all([
        isId.test(chatId) ? parts.turnOf(db, { replicaId, chatId }) : undefined,
        parts.refuseSpending(db, { replicaId }),
        parts.credentialOf(db, { organizationId, agent }),
      ]);
      if (turn?.provider !== agent) throw new ModelRefusal(404, 'There is no such chat in this workspace.');
      const asker = { organizationId, replicaId, agent, chatId, messageId: turn.messageId };
      const signal = goneSignal(response);
      const asked = { request, response, api, path, asker, refusal, credential, signal };
      await withoutIdleLimit(request, () => answer(asked));
    } catch (error) {
      if (!(error instanceof ModelRefusal)) throw error;
      const { status, message: reason, cause } = error;
      log.info(
        { sandboxId, agent, status, reason, ...(cause !== undefined && { err: cause }) },
        'model.refused',
      );
      await answerModelRefusal(response, api, error);
    } finally {
      leave?.();
    }
  }

  async function answer(asked: Asked): Promise<void> {
    const { request, response, api, path, asker, refusal, credential } = asked;
    // Agents look whether somebody is there before they ask.
    if (request.method === 'HEAD') return void response.writeHead(200).end();
    const wanted = api.paths.get(path);
    if (!wanted || wanted.method !== request.method)
      throw new ModelRefusal(404, `The model API is not open for ${request.method} ${path.slice(0, 200)}.`);
    if (refusal !== null) throw new ModelRefusal(402, refusal);
    const usage = await (credential
      ? upstream({ ...asked, path: wanted.upstream, credential })
      : answerOffline(asked));
    if (usage && wanted.isMetered)
      await parts.record(db, asker, { ...usage, isOffline: credential === null });
  }

  async function answerOffline({
    request,
    path,
    response,
    signal,
    asker,
  }: Asked): Promise<TokenUsage | null> {
    if (!offlineModel)
      throw new ModelRefusal(
        403,
        `The organization has no credential for ${asker.agent}; an admin sets it with PUT /v1/organization/coding-agents/${asker.agent}.`,
      );
    const { method = '', headers } = request;
    const body = await read(request);
    const composed = await offlineModel.compose({ method, path, headers, body }, signal);
    return passAnswer(response, composed, signal);
  }

  return { prefix: PREFIX, handle };
}

async function read(request: IncomingMessage): Promise<Buffer> {
  try {
    return await readBody(request, { maxBytes: MAX_MODEL_BODY_BYTES });
  } catch (error) {
    if (!(error instanceof TooLargeError)) throw error;
    throw new ModelRefusal(413, error.message);
  }
}
