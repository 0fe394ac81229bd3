import { expect, test } from 'vitest';
import { AppError } from '../contract/error.ts';
import { requireServed } from './admission.ts';
import { replicaStates } from './lifecycle.ts';

const refusals = (isStrict: boolean) =>
  replicaStates.filter((state) => {
    try {
      requireServed(state, { isStrict });
      return false;
    } catch (error) {
      expect(error).toBeInstanceOf(AppError);
      expect((error as AppError).code).toBe('invalid_state');
      return true;
    }
  });

test('only a failed replica is not served', () => {
  expect(refusals(false)).toEqual(['failed']);
});

test('strict handling also refuses every replica that callers see asleep', () => {
  expect(refusals(true)).toEqual(['falling_asleep', 'sleeping', 'waking', 'archiving', 'archived', 'failed']);
});

test('the refusal names what a failed replica still serves, whatever was asked for', () => {
  expect(() => requireServed('failed', { isStrict: false })).toThrow(
    'A replica with status error serves only its record and its history; delete it and create another one.',
  );
});
