import type { FastifyReply, FastifyRequest } from 'fastify';
import { describe, expect, test } from 'vitest';
import type { Caller } from '../account/caller.ts';
import type { Access, Operation } from '../contract/operation.ts';
import { createAdmit, refuse } from './admit.ts';
import { createTokenBuckets } from './token-bucket.ts';

const caller = (kind: Caller['kind'], role: Caller['role']): Caller => ({
  organizationId: 'o',
  kind,
  role,
  keyId: kind === 'person' ? null : 'k',
  personId: kind === 'org_key' ? null : 'p',
});

const callers = {
  nobody: null,
  orgKey: caller('org_key', 'admin'),
  memberKey: caller('personal_key', 'member'),
  adminKey: caller('personal_key', 'admin'),
  member: caller('person', 'member'),
  admin: caller('person', 'admin'),
};

/** The status each caller gets, 200 when admitted. */
const expected: Record<Access, Record<keyof typeof callers, number>> = {
  anyone: { nobody: 200, orgKey: 200, memberKey: 200, adminKey: 200, member: 200, admin: 200 },
  member: { nobody: 401, orgKey: 200, memberKey: 200, adminKey: 200, member: 200, admin: 200 },
  admin: { nobody: 401, orgKey: 200, memberKey: 403, adminKey: 200, member: 403, admin: 200 },
  person: { nobody: 401, orgKey: 401, memberKey: 401, adminKey: 401, member: 200, admin: 200 },
  admin_person: { nobody: 401, orgKey: 401, memberKey: 401, adminKey: 401, member: 403, admin: 200 },
};

describe('who may call', () => {
  for (const [access, row] of Object.entries(expected) as [Access, Record<keyof typeof callers, number>][]) {
    test.each(Object.entries(row))(`${access}: %s gets %i`, (name, status) => {
      expect(refuse(access, callers[name as keyof typeof callers])?.status ?? 200).toBe(status);
    });
  }
});

test('an address that has used up its guesses is refused without its keys being looked up', async () => {
  let lookups = 0;
  const admit = createAdmit({
    authenticate: async () => {
      lookups += 1;
      return null;
    },
    buckets: createTokenBuckets({ capacity: 3, refillPerSecond: 1, maxEntries: 10 }),
    now: () => 0,
  });
  const statuses: unknown[] = [];
  for (let guess = 0; guess < 6; guess++) {
    const request = { ip: '192.0.2.1', headers: { authorization: 'Bearer guess' } } as FastifyRequest;
    const reply = { header: () => reply } as unknown as FastifyReply;
    await admit({ access: 'member' } as Operation, request, reply).catch((error) =>
      statuses.push(error.status),
    );
  }
  expect(statuses).toEqual([401, 401, 401, 429, 429, 429]);
  expect(lookups).toBe(3);
});
