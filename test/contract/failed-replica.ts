import type { OperationName } from '../../src/contract/operations.ts';
import { usualCaller } from './call.ts';
import { exampleOf } from './examples.ts';
import type { Fixture } from './fixture.ts';
import type { Refusal } from './refusal.ts';
import { placeReplica } from './replica-fixture.ts';

/** The example with a replica that has failed, of which nothing can be wanted but its end. */
export function ofFailedReplica(name: OperationName): Refusal {
  return async (f) => {
    const call = await exampleOf(name, f, usualCaller(name));
    return { ...call, params: { ...call.params, id: await insertFailed(f) } };
  };
}

export function insertFailed(f: Fixture): Promise<string> {
  return placeReplica(f.stage, { organizationId: f.org.id, state: 'failed' });
}
