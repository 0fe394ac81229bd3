import type { Sealer } from '../secret/seal.ts';
import type { PreviewRow } from './service.ts';

/** What lets a browser see a preview: a link for a short while, and the session that opening it begins. */
export type PassKind = 'link' | 'session';

export type Passes = ReturnType<typeof createPasses>;

export const passLifetimeMs: Record<PassKind, number> = { link: 10 * 60_000, session: 12 * 3_600_000 };

/** Longer than any pass is. */
const MAX_CHARACTERS = 200;

/**
 * Passes are times sealed to one preview and one kind: a link is no session, and neither counts for another port, or for
 * the same port once it was removed and registered anew.
 */
export function createPasses({ sealer, now }: { sealer: Sealer; now: () => Date }) {
  return {
    issue(kind: PassKind, preview: PreviewRow): { pass: string; expiresAt: Date } {
      const expiresAt = new Date(now().getTime() + passLifetimeMs[kind]);
      const sealed = sealer.seal(String(expiresAt.getTime()), contextOf(kind, preview));
      return { pass: sealed.toString('base64url'), expiresAt };
    },

    isValid(kind: PassKind, preview: PreviewRow, pass: string): boolean {
      if (pass.length > MAX_CHARACTERS) return false;
      try {
        const expiresAtMs = Number(sealer.open(Buffer.from(pass, 'base64url'), contextOf(kind, preview)));
        return expiresAtMs > now().getTime();
      } catch {
        return false;
      }
    },
  };
}

function contextOf(kind: PassKind, { replica_id, port, created_at }: PreviewRow): string {
  return `preview ${kind}:${replica_id}:${port}:${created_at.getTime()}`;
}
