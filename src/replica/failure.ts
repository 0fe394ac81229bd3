import { sentenceFor } from '../lib/user-sentence.ts';
import { EngineUnreachableError } from '../sandbox/engine-client.ts';

/** Why a replica could not be started, as its owner can understand it. What only an operator may see is in the log. */
export function failureSentence(error: unknown): string {
  const code = (error as NodeJS.ErrnoException | null)?.code;
  if (code === 'ENOSPC' || code === 'EDQUOT') {
    return 'The machine has no disk space left for the workspace; free some and try again.';
  }
  if (error instanceof EngineUnreachableError) {
    return 'The sandbox started but its engine did not answer; the log of the service says more.';
  }
  return sentenceFor(error, 'The sandbox could not be started; the log of the service says why.');
}
