import { AppError } from '../contract/error.ts';
import { type PublicStatus, publicStatus, type ReplicaState } from './lifecycle.ts';

/** Refuses what is of a replica that has failed, or of one that sleeps when the caller wants it strict. */
export function requireServed(state: ReplicaState, { isStrict }: { isStrict: boolean }): void {
  const status: PublicStatus | null = publicStatus[state];
  if (status === 'error') {
    throw new AppError(
      'invalid_state',
      'A replica with status error serves only its record and its history; delete it and create another one.',
    );
  }
  if (isStrict && (status === 'sleeping' || status === 'archived')) {
    throw new AppError(
      'invalid_state',
      `The replica is ${status} and the request asks for strict handling; wake the replica first.`,
    );
  }
}
