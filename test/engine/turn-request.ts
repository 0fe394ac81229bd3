import { randomUUID } from 'node:crypto';
import type { TurnRequest } from '../../src/engine/protocol.ts';

/** A message as the control plane hands it over, for the scripted agent unless said otherwise. */
export function turnRequest(request: Partial<TurnRequest> & Pick<TurnRequest, 'message'>): TurnRequest {
  return {
    id: randomUUID(),
    chatId: randomUUID(),
    agent: 'scripted',
    agentFolder: null,
    images: [],
    model: null,
    thinkingLevel: 'medium',
    planMode: false,
    goalMode: false,
    fastMode: false,
    credential: null,
    silenceMs: 60_000,
    durationMs: 60_000,
    ...request,
  };
}
