import { setTimeout as delay } from 'node:timers/promises';
import { AgentFailure, type JsonObject } from '../agent.ts';
import type { AgentProcess } from '../agent-process.ts';
import { objectAt, textAt } from '../json-fields.ts';

export type ClaudeControl = {
  /** Asks claude for something beside the conversation; throws when it refuses, has ended or takes too long. */
  ask(request: JsonObject, limitMs?: number): Promise<JsonObject>;
  /** Takes an answer to something that was asked. */
  hear(message: JsonObject): void;
};

export function createClaudeControl(
  process: Pick<AgentProcess, 'send' | 'ended' | 'lastWords'>,
): ClaudeControl {
  const waiting = new Map<string, (response: JsonObject) => void>();
  let count = 0;
  return {
    async ask(request, limitMs = LIMIT_MS) {
      count += 1;
      const requestId = `engine-${count}`;
      const { promise: answered, resolve } = Promise.withResolvers<JsonObject>();
      const timer = new AbortController();
      const late = delay(limitMs, null, { signal: timer.signal }).catch(() => null);
      waiting.set(requestId, resolve);
      try {
        process.send({ type: 'control_request', request_id: requestId, request });
        const response = await Promise.race([answered, late, process.ended.then(() => null)]);
        if (response !== null && response.subtype === 'success') return objectAt(response, 'response');
        throw unanswered(request, response);
      } finally {
        waiting.delete(requestId);
        timer.abort();
      }
    },
    hear(message) {
      const response = objectAt(message, 'response');
      waiting.get(textAt(response, 'request_id'))?.(response);
    },
  };

  function unanswered(request: JsonObject, response: JsonObject | null): AgentFailure {
    const reason = (response === null ? process.lastWords() : textAt(response, 'error')).slice(
      -MAX_CHARACTERS,
    );
    const said = reason === '' ? '' : ` It says: ${reason}`;
    const kind = response === null ? 'agent_died' : 'agent_failed';
    return new AgentFailure(
      `Claude did not do what it was asked for (${textAt(request, 'subtype')}).${said}`,
      {
        kind,
      },
    );
  }
}

const LIMIT_MS = 20_000;
const MAX_CHARACTERS = 1_000;
