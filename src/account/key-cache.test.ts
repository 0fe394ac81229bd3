import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Caller } from './caller.ts';
import { type CredentialChange, createKeyCache, type Ticket } from './key-cache.ts';

const LEASE_MS = 900;

const hashOf = (text: string) => createHash('sha256').update(text).digest();
const orgKey: Caller = { organizationId: 'o', kind: 'org_key', keyId: 'k1', personId: null, role: 'admin' };
const personalKey: Caller = {
  organizationId: 'o',
  kind: 'personal_key',
  keyId: 'k2',
  personId: 'p',
  role: 'member',
};
const keyGone = (hash: Buffer): CredentialChange => ({ keyHash: hash, organizationId: 'o', personId: null });
const memberGone = (personId: string): CredentialChange => ({ keyHash: null, organizationId: 'o', personId });

/** A cache that has just looked at the changes, with one entry for each caller given. */
function filled(callers: Record<string, Caller>, maxEntries = 100) {
  const cache = createKeyCache({ maxEntries, leaseMs: LEASE_MS });
  cache.report([], 0);
  for (const [text, caller] of Object.entries(callers)) cache.offer(cache.takeTicket(), hashOf(text), caller);
  return cache;
}

describe('the lease', () => {
  test('nothing is answered before the first look', () => {
    const cache = createKeyCache({ maxEntries: 10, leaseMs: LEASE_MS });
    cache.offer(cache.takeTicket(), hashOf('a'), orgKey);
    expect(cache.find(hashOf('a'), 0)).toBeNull();
  });

  test.each([
    [0, true],
    [LEASE_MS - 1, true],
    [LEASE_MS, false],
    [LEASE_MS + 5_000, false],
  ])('%d ms after the last look began, an entry is answered: %s', (nowMs, isAnswered) => {
    expect(filled({ a: orgKey }).find(hashOf('a'), nowMs)).toEqual(isAnswered ? orgKey : null);
  });

  test('a look that began early and ended late does not take back the lease of a later one', () => {
    const cache = filled({ a: orgKey });
    cache.report([], 1_000);
    cache.report([], 500);
    expect(cache.find(hashOf('a'), 1_000 + LEASE_MS - 1)).toEqual(orgKey);
  });
});

describe('changes', () => {
  test.each([
    ['its own deletion', orgKey, keyGone(hashOf('a')), false],
    ['the deletion of another key', orgKey, keyGone(hashOf('b')), true],
    ['a change of a member', orgKey, memberGone('p'), true],
    ['a change of its owner', personalKey, memberGone('p'), false],
    ['a change of another member', personalKey, memberGone('q'), true],
    [
      'a change of its owner in another organization',
      personalKey,
      { ...memberGone('p'), organizationId: 'other' },
      true,
    ],
  ])('after %s an entry stays: %#', (_what, caller, change, stays) => {
    const cache = filled({ a: caller });
    cache.report([change], 1);
    expect(cache.find(hashOf('a'), 1)).toEqual(stays ? caller : null);
  });

  test('what was read before a change and is offered after it was reported is refused', () => {
    const cache = filled({});
    const ticket = cache.takeTicket();
    cache.report([keyGone(hashOf('a'))], 1);
    cache.offer(ticket, hashOf('a'), orgKey);
    expect(cache.find(hashOf('a'), 1)).toBeNull();
  });

  test('the same goes for a member whose role changed', () => {
    const cache = filled({});
    const ticket = cache.takeTicket();
    cache.report([memberGone('p')], 1);
    cache.report([], 2);
    cache.offer(ticket, hashOf('a'), personalKey);
    expect(cache.find(hashOf('a'), 2)).toBeNull();
    cache.offer(cache.takeTicket(), hashOf('a'), { ...personalKey, role: 'admin' });
    expect(cache.find(hashOf('a'), 2)?.role).toBe('admin');
  });

  test('a read slower than the looks is kept when it is about another key', () => {
    const cache = filled({});
    const ticket = cache.takeTicket();
    for (let at = 1; at < 10; at++) cache.report([keyGone(hashOf(`other ${at}`))], at);
    cache.offer(ticket, hashOf('a'), orgKey);
    expect(cache.find(hashOf('a'), 10)).toEqual(orgKey);
  });

  test('a read older than the reports that are kept is refused', () => {
    const cache = filled({});
    const ticket = cache.takeTicket();
    for (let at = 1; at < 200; at++) cache.report([], at);
    cache.offer(ticket, hashOf('a'), orgKey);
    expect(cache.find(hashOf('a'), 200)).toBeNull();
  });

  test('clearing forgets all entries and refuses what is being read', () => {
    const cache = filled({ a: orgKey });
    const ticket = cache.takeTicket();
    cache.clear();
    cache.report([], 1);
    cache.offer(ticket, hashOf('b'), orgKey);
    expect([cache.find(hashOf('a'), 1), cache.find(hashOf('b'), 1)]).toEqual([null, null]);
  });
});

test('the entry that was used least recently is forgotten first', () => {
  const cache = filled({ a: orgKey, b: orgKey }, 2);
  cache.find(hashOf('a'), 0);
  cache.offer(cache.takeTicket(), hashOf('c'), orgKey);
  expect(cache.size).toBe(2);
  expect(['a', 'b', 'c'].map((text) => cache.find(hashOf(text), 0) !== null)).toEqual([true, false, true]);
});

test('a hash that agrees only in its first half is another key', () => {
  const cache = filled({ a: orgKey });
  const twin = Buffer.from(hashOf('a'));
  twin[31] = (twin[31] ?? 0) ^ 1;
  expect(cache.find(twin, 0)).toBeNull();
});

type Step = { act: 'delete' | 'beginRead' | 'endRead' | 'beginLook' | 'endLook'; key: number; ms: number };

test('whatever the order of reads, looks and deletions, no key is answered a lease after its deletion', () => {
  const step = fc.record<Step>({
    act: fc.constantFrom('delete', 'beginRead', 'endRead', 'beginLook', 'endLook'),
    key: fc.nat(2),
    ms: fc.integer({ min: 1, max: 400 }),
  });
  const holds = fc.property(fc.array(step, { maxLength: 80 }), (steps) => {
    expect(firstBreach(steps)).toBeNull();
  });
  fc.assert(holds, { numRuns: 2_000 });
});

/** Plays the steps against a model of the database; says when a deleted key was answered for too long. */
function firstBreach(steps: Step[]): string | null {
  const cache = createKeyCache({ maxEntries: 10, leaseMs: LEASE_MS });
  const hashes = [0, 1, 2].map((key) => hashOf(String(key)));
  const deletedAt = new Map<number, number>();
  const reads: { key: number; ticket: Ticket; exists: boolean }[] = [];
  const seen = new Set<number>();
  let look: { beganAt: number; changes: number[] } | null = null;
  let nowMs = 0;
  for (const { act, key, ms } of steps) {
    nowMs += ms;
    if (act === 'delete' && !deletedAt.has(key)) deletedAt.set(key, nowMs);
    if (act === 'beginRead') reads.push({ key, ticket: cache.takeTicket(), exists: !deletedAt.has(key) });
    if (act === 'endRead') {
      const read = reads.shift();
      if (read?.exists) cache.offer(read.ticket, hashes[read.key] ?? Buffer.alloc(32), orgKey);
    }
    if (act === 'beginLook' && !look) {
      look = { beganAt: nowMs, changes: [...deletedAt.keys()].filter((gone) => !seen.has(gone)) };
    }
    if (act === 'endLook' && look) {
      for (const gone of look.changes) seen.add(gone);
      cache.report(
        look.changes.map((gone) => keyGone(hashes[gone] ?? Buffer.alloc(32))),
        look.beganAt,
      );
      look = null;
    }
    for (const [gone, at] of deletedAt) {
      const isAnswered = cache.find(hashes[gone] ?? Buffer.alloc(32), nowMs) !== null;
      if (isAnswered && nowMs >= at + LEASE_MS) return `key ${gone} at ${nowMs}, deleted at ${at}`;
    }
  }
  return null;
}
