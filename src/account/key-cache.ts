// What this process remembers about API keys, so that a key in use costs no database read.
//
// Players: requests ask by hash, and on a miss read the database and offer what they found; the credential watch looks
// at credential_change a few times a second and reports what was taken away.
//
// Guarantee: a key or role that was taken away by a commit at T is not answered from here after T + leaseMs.
// - The lease. Nothing is answered unless the last completed look began less than leaseMs ago. A look that began
//   after T has seen the change and dropped the entry; a look that began before T is too old at T + leaseMs. When
//   the database stalls or the event loop was blocked, the lease is over and requests read for themselves.
// - The late offer. A request can read a key just before T and offer it just after the look that saw the change, and
//   no later look would report it again. So a read takes a ticket when it begins, and an offer is refused when
//   a look that completed since then has reported that key or that member. Tickets older than the reports that are
//   kept are refused altogether.
//
// Entries are found by half of the hash and then compared in constant time by all of it.

import { timingSafeEqual } from 'node:crypto';
import type { Caller } from './caller.ts';

export type CredentialChange = { keyHash: Buffer | null; organizationId: string; personId: string | null };

/** Marks when a read began. */
export type Ticket = number;

export type KeyCache = ReturnType<typeof createKeyCache>;

type Entry = { hash: Buffer; caller: Caller };
type Report = { look: number; dropped: Set<string> };

const KEPT_LOOKS = 100;

export function createKeyCache({ maxEntries, leaseMs }: { maxEntries: number; leaseMs: number }) {
  // In the order of last use: the front is forgotten first.
  const entries = new Map<string, Entry>();
  let reports: Report[] = [];
  let looks = 0;
  let oldestTicket = 0;
  let leaseEndsAtMs = Number.NEGATIVE_INFINITY;

  return {
    get size() {
      return entries.size;
    },

    find(hash: Buffer, nowMs: number): Caller | null {
      if (nowMs >= leaseEndsAtMs) return null;
      const at = placeOf(hash);
      const entry = entries.get(at);
      if (!entry || !timingSafeEqual(entry.hash, hash)) return null;
      entries.delete(at);
      entries.set(at, entry);
      return entry.caller;
    },

    /** To be taken before the read whose outcome is offered. */
    takeTicket(): Ticket {
      return looks;
    },

    offer(ticket: Ticket, hash: Buffer, caller: Caller): void {
      if (ticket < oldestTicket) return;
      const names = namesOf(hash, caller);
      const isStale = reports.some(
        ({ look, dropped }) => look > ticket && names.some((name) => dropped.has(name)),
      );
      if (isStale) return;
      entries.set(placeOf(hash), { hash, caller });
      for (const oldest of entries.keys()) {
        if (entries.size <= maxEntries) break;
        entries.delete(oldest);
      }
    },

    /** Takes in what a look at the changes has found; `beganAtMs` is from before its query was sent. */
    report(changes: readonly CredentialChange[], beganAtMs: number): void {
      looks += 1;
      leaseEndsAtMs = Math.max(leaseEndsAtMs, beganAtMs + leaseMs);
      oldestTicket = Math.max(oldestTicket, looks - KEPT_LOOKS);
      reports = reports.filter(({ look }) => look > oldestTicket);
      if (changes.length === 0) return;
      const dropped = new Set(changes.map(nameOf));
      reports.push({ look: looks, dropped });
      for (const [at, { hash, caller }] of entries) {
        if (namesOf(hash, caller).some((name) => dropped.has(name))) entries.delete(at);
      }
    },

    /** Forgets everything, also what is being read at the moment. */
    clear(): void {
      entries.clear();
      looks += 1;
      oldestTicket = looks;
      leaseEndsAtMs = Number.NEGATIVE_INFINITY;
    },
  };
}

/** What a change can be about: a key, or all keys of a member. */
function nameOf({ keyHash, organizationId, personId }: CredentialChange): string {
  return keyHash ? keyName(keyHash) : memberName(organizationId, personId);
}

function namesOf(hash: Buffer, caller: Caller): string[] {
  const key = keyName(hash);
  return caller.personId ? [key, memberName(caller.organizationId, caller.personId)] : [key];
}

const keyName = (hash: Buffer) => hash.toString('base64');
const memberName = (organizationId: string, personId: string | null) => `${organizationId}:${personId}`;
const placeOf = (hash: Buffer) => hash.toString('latin1', 0, hash.length / 2);
