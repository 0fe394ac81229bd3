import type { z } from 'zod';
import type { Operation } from '../../src/contract/operation.ts';
import type { Who } from './call.ts';
import type { Fixture } from './fixture.ts';

type Part<O, P extends 'params' | 'query' | 'body'> =
  O extends Record<P, infer S extends z.ZodType> ? { [K in P]: z.input<S> } : unknown;

type Headers<O> = O extends { headers: infer S extends z.ZodType } ? { headers?: z.input<S> } : unknown;

type RawBody<O> = O extends { isRaw: true } ? { body: string } : unknown;

/** What a caller must send; a part that the operation has cannot be left out, apart from headers. */
type Example<O extends Operation> = Part<O, 'params'> &
  Part<O, 'query'> &
  Headers<O> &
  Part<O, 'body'> &
  RawBody<O>;

/** A call that succeeds, any number of times: what it creates has a new name, what it deletes is made for it. */
export type Examples<O extends Record<string, Operation>> = {
  [K in keyof O]: (fixture: Fixture, as: Who) => Example<O[K]> | Promise<Example<O[K]>>;
};
