import { setTimeout as delay } from 'node:timers/promises';
import { orAbort } from '../../or-abort.ts';
import type { SlashCommand } from '../../protocol.ts';
import { AgentFailure, type AgentTurn, agentDied, type JsonObject } from '../agent.ts';
import { objectAt, objectsAt, textAt } from '../json-fields.ts';
import { type OpencodeClient, OpencodeRefusal } from './opencode-client.ts';
import type { OpencodeEar } from './opencode-ear.ts';
import { opencodeFailure, retryFailure } from './opencode-failure.ts';
import { followOpencode, type OpencodeFollower } from './opencode-follow.ts';
import { chooseModel, type OpencodeModels } from './opencode-model.ts';
import { opencodePrompt } from './opencode-prompt.ts';
import { type RetryLimits, watchRetries } from './opencode-retry.ts';
import type { OpencodeServer } from './opencode-server.ts';

export type OpencodeConversation = {
  id: string;
  client: OpencodeClient;
  ear: OpencodeEar;
  server: Pick<OpencodeServer, 'ended' | 'close'>;
  models: OpencodeModels;
  commands: readonly SlashCommand[];
  retryLimits: RetryLimits;
};

/** Lets opencode work on one message. The request that brings it the message is answered when it is done with it. */
export async function workWithOpencode(turn: AgentTurn, conversation: OpencodeConversation): Promise<void> {
  const { request, signal } = turn;
  const { id, client, ear, models, commands } = conversation;
  const choice = chooseModel(request, models);
  if (choice === null) throw new AgentFailure('OpenCode was started without a word of this model.');
  if (choice.lacksFast) await turn.delta({ type: 'notice', text: `${choice.model} has no fast mode.` });

  const retries = watchRetries(conversation.retryLimits);
  const givingUp = new AbortController();
  const follower = followOpencode(turn, {
    id,
    read: (message) => readMessage(client, `/session/${id}/message/${message}`),
    onRetry({ attempt, words, nextMs }) {
      const atMs = Date.now();
      if (retries.isEnough({ attempt, atMs, nextMs }))
        givingUp.abort(retryFailure({ words, waitMs: nextMs - atMs }));
    },
    onAsked: (kind, requestId) => answerForNobody(client, kind, requestId),
  });
  let isWellEnded = false;
  const listening = listen(conversation, { follower, onSilence: (failure) => givingUp.abort(failure) });
  try {
    await orAbort(listening.begun, AbortSignal.any([signal, AbortSignal.timeout(BEGIN_MS)]));
    const { path, body } = opencodePrompt(request, choice, new Set(commands.map(({ command }) => command)));
    const answered = client.ask({ method: 'POST', path: `/session/${id}${path}`, body, limitMs: null });
    const stop = AbortSignal.any([signal, givingUp.signal]);
    const { message, failure } = await answerOrStop(answered, stop, conversation);
    const hasSaidAll = await Promise.race([
      follower.idle.then(() => true),
      delay(LAST_WORDS_MS, false, { ref: false }),
    ]);
    const unheard = await listening.end();
    if (request.planMode && failure === null && !stop.aborted) await follower.showPlan(textOf(message));
    await follower.finish(message);
    if (signal.aborted) return;
    givingUp.signal.throwIfAborted();
    if (failure !== null) throw failure instanceof OpencodeRefusal ? explain(failure, follower) : failure;
    if (unheard !== null) throw unheard;
    isWellEnded = hasSaidAll;
  } finally {
    await listening.end();
    // Of a turn that was broken off, or has not said its last word, there may be more to hear. It is not for the next one.
    if (!isWellEnded) ear.close();
  }
}

const BEGIN_MS = 30_000;
/** How long the last events are waited for after the answer, which often comes before them. */
const LAST_WORDS_MS = 5_000;
const STOP_TRIES = 6;
const STOP_TRY_MS = 500;
const END_MS = 1_000;
const fellSilent = 'OpenCode does not say any more what it does, and was stopped; send the message again.';

/**
 * Takes events until it is ended; whatever stops it before is given back then. Events that just end are told of at
 * once: without them nobody notices that opencode waits for an answer or for its model.
 */
function listen(
  { ear, server }: OpencodeConversation,
  { follower, onSilence }: { follower: OpencodeFollower; onSilence(failure: AgentFailure): void },
) {
  const ending = new AbortController();
  const { promise: begun, resolve, reject } = Promise.withResolvers<void>();
  let trouble: Error | null = null;
  const heard = hearAll().catch((error: Error) => {
    if (!ending.signal.aborted) trouble = error;
    reject(error);
  });
  // Whoever is not waiting for it any more must not be hit by it.
  begun.catch(() => {});

  async function hearAll(): Promise<void> {
    for await (const event of ear.events(ending.signal)) {
      resolve();
      await follower.hear(event);
    }
    if (ending.signal.aborted) return;
    const hasEnded = server.ended.then(() => true);
    const isDead = await Promise.race([hasEnded, delay(END_MS, false, { ref: false })]);
    const failure = isDead ? agentDied() : new AgentFailure(fellSilent, { kind: 'agent_died' });
    if (!ending.signal.aborted) onSilence(failure);
    throw failure;
  }

  return {
    begun,
    async end(): Promise<Error | null> {
      ending.abort();
      await heard;
      return trouble;
    },
  };
}

type Outcome = { message: JsonObject | null; failure: AgentFailure | null };

/** Waits for the end of the work, which comes soon after the signal: a server that does not stop is ended. */
async function answerOrStop(
  answered: Promise<unknown>,
  signal: AbortSignal,
  { id, client, server }: OpencodeConversation,
): Promise<Outcome> {
  async function stop(): Promise<void> {
    // Asked too early, it has nothing to stop yet.
    for (let tries = 0; tries < STOP_TRIES; tries += 1) {
      await client
        .ask({ method: 'POST', path: `/session/${id}/abort`, limitMs: STOP_TRY_MS })
        .catch(() => {});
      if (await Promise.race([settled, delay(STOP_TRY_MS, false, { ref: false })])) return;
    }
    await server.close();
  }

  const settled = answered.then(
    () => true,
    () => true,
  );
  let stopping = Promise.resolve();
  const onAbort = () => {
    stopping = stop();
  };
  if (signal.aborted) onAbort();
  else signal.addEventListener('abort', onAbort, { once: true });
  try {
    const message = toObject(await answered);
    const { error } = objectAt(message, 'info');
    return { message, failure: error === undefined ? null : opencodeFailure(toObject(error)) };
  } catch (error) {
    if (error instanceof AgentFailure) return { message: null, failure: error };
    await Promise.race([server.ended, delay(END_MS, undefined, { ref: false })]);
    return { message: null, failure: agentDied(error) };
  } finally {
    signal.removeEventListener('abort', onAbort);
    // A request to stop that is still on its way would stop the next message.
    await stopping;
  }
}

/** The server's own refusal says nothing; what it means is in the events. */
function explain(refusal: OpencodeRefusal, follower: OpencodeFollower): AgentFailure {
  const error = follower.lastError();
  return error === null ? refusal : opencodeFailure(error);
}

/** A message that cannot be had, as after the end of the server, is not worth the turn. */
async function readMessage(client: OpencodeClient, path: string): Promise<JsonObject | null> {
  return client.ask({ method: 'GET', path }).then(toObject, () => null);
}

/** What the rules of the user or the repository want somebody to allow is allowed; a question remains without answer. */
async function answerForNobody(
  client: OpencodeClient,
  kind: 'permission' | 'question',
  id: string,
): Promise<void> {
  const answer =
    kind === 'question'
      ? { path: `/question/${id}/reject` }
      : { path: `/permission/${id}/reply`, body: { reply: 'once' } };
  // Whoever asked may have gone meanwhile.
  await client.ask({ method: 'POST', ...answer }).catch(() => {});
}

function textOf(message: JsonObject | null): string {
  return objectsAt(message ?? {}, 'parts')
    .filter(({ type }) => type === 'text')
    .map((part) => textAt(part, 'text'))
    .join('\n\n');
}

function toObject(value: unknown): JsonObject {
  return objectAt({ value }, 'value');
}
