import { setTimeout as delay } from 'node:timers/promises';
import { AgentFailure, type JsonObject } from '../agent.ts';
import type { AgentProcess } from '../agent-process.ts';
import { numberAt, objectAt, textAt } from '../json-fields.ts';

export type CodexRpc = {
  /** Asks codex for something; throws when it refuses, has ended or takes too long. */
  ask(method: string, params: JsonObject, limitMs?: number): Promise<JsonObject>;
  /** Tells codex something it does not answer. */
  tell(method: string): void;
  /** Takes an answer to something that was asked. */
  hear(message: JsonObject): void;
  /** Answers something that codex has asked; null when that is not known here. */
  answer(id: unknown, result: JsonObject | null): void;
};

/** JSON-RPC as codex speaks it: without the field that names the version. */
export function createCodexRpc(process: Pick<AgentProcess, 'send' | 'ended' | 'lastWords'>): CodexRpc {
  const waiting = new Map<number, (answer: JsonObject) => void>();
  let count = 0;
  return {
    async ask(method, params, limitMs = LIMIT_MS) {
      count += 1;
      const id = count;
      const { promise: answered, resolve } = Promise.withResolvers<JsonObject>();
      const timer = new AbortController();
      const late = delay(limitMs, null, { signal: timer.signal }).catch(() => null);
      waiting.set(id, resolve);
      try {
        process.send({ id, method, params });
        const answer = await Promise.race([answered, late, process.ended.then(() => null)]);
        if (answer === null || answer.error !== undefined) throw unanswered(method, answer);
        return objectAt(answer, 'result');
      } finally {
        waiting.delete(id);
        timer.abort();
      }
    },
    tell: (method) => process.send({ method }),
    hear: (message) => waiting.get(numberAt(message, 'id') ?? 0)?.(message),
    answer: (id, result) =>
      process.send(
        result === null ? { id, error: { code: -32601, message: 'not known here' } } : { id, result },
      ),
  };

  function unanswered(method: string, answer: JsonObject | null): AgentFailure {
    const reason = answer === null ? process.lastWords() : textAt(objectAt(answer, 'error'), 'message');
    const said = reason === '' ? '' : ` It says: ${reason.slice(-MAX_CHARACTERS)}`;
    const kind = answer === null ? 'agent_died' : 'agent_failed';
    return new AgentFailure(`Codex did not do what it was asked for (${method}).${said}`, { kind });
  }
}

const LIMIT_MS = 30_000;
const MAX_CHARACTERS = 1_000;
