import type { Operation } from '../../src/contract/operation.ts';
import type { OperationName } from '../../src/contract/operations.ts';
import type { ApiCall } from '../world/world.ts';
import { type LooseCall, usualCaller } from './call.ts';
import { exampleOf } from './examples.ts';
import type { Fixture } from './fixture.ts';

/** A call that is refused; `by` when somebody else than the usual caller makes it. */
export type RefusedCall = LooseCall & { by?: ApiCall };
export type Refusal = (fixture: Fixture) => Promise<RefusedCall>;

type Declared<O> = O extends { errors: readonly (infer E)[] } ? E & string : never;

/** A case for every error that an operation declares for itself; leaving one out does not compile. */
export type Refusals<O extends Record<string, Operation>> = {
  [K in keyof O as [Declared<O[K]>] extends [never] ? never : K]: Record<Declared<O[K]>, Refusal>;
};

/** The example with some fields of its body changed. */
export async function again(f: Fixture, name: OperationName, fields: object): Promise<RefusedCall> {
  const call = await exampleOf(name, f, usualCaller(name));
  return { ...call, body: { ...(call.body as object), ...fields } };
}
