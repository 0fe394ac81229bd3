import { createHash, timingSafeEqual } from 'node:crypto';
import { AppError, notFound } from '../contract/error.ts';
import type { Db } from '../db/database.ts';
import { isSignedWith } from '../git-event/signature.ts';
import type { InboundService } from '../inbound/service.ts';
import type { Sealer } from '../secret/seal.ts';
import { sealedContext } from '../secret/sealed-columns.ts';
import { payloadOf } from './custom-payload.ts';
import { hasPendingRuns, selectByTokenHash } from './custom-store.ts';
import type { AutomationRow } from './fire.ts';
import type { Firing } from './firing.ts';
import { hasTrigger } from './triggers.ts';

type Parts = {
  firing: Pick<Firing, 'fire'>;
  inbound: Pick<InboundService, 'takeOnce'>;
  sealer: Sealer;
  newId: () => string;
  now: () => Date;
};

export type CustomCall = {
  token: string;
  bytes: Buffer;
  signature: string | null;
  /** What the caller names the delivery, so that sending it again changes nothing. */
  deliveryId: string | null;
};

export type CustomWebhookService = ReturnType<typeof createCustomWebhookService>;

/** What is signed with is never asked for when the token is wrong; the same work is done all the same. */
const NO_SECRET = 'none';
/** What calls come to when nobody gets around to them: each may bring the largest payload, and all are kept. */
const MAX_PENDING = 1_000;

export function createCustomWebhookService({ firing, inbound, sealer, newId, now }: Parts) {
  /** Takes a call; every reason to refuse it gets the same answer. Only who may call is told that there are too many. */
  async function receive(db: Db, call: CustomCall): Promise<void> {
    const automation = await find(db, call);
    if (!automation) throw notFound('Automation');
    const { id, organization_id: organizationId } = automation;
    const { deliveryId } = call;
    if (deliveryId !== null) {
      const delivery = { organizationId, source: `automation:${id}`, deliveryId, at: now() };
      if (!(await inbound.takeOnce(db, delivery))) return;
    }
    if (await hasPendingRuns(db, { automationId: id, count: MAX_PENDING })) {
      throw new AppError(
        'rate_limited',
        `${MAX_PENDING} runs of this automation wait to begin; try again later.`,
      );
    }
    await firing.fire(db, automation, {
      triggerType: 'custom',
      payload: payloadOf(call.bytes),
      cause: `custom:${newId()}`,
      subject: null,
    });
  }

  async function find(db: Db, { token, bytes, signature }: CustomCall): Promise<AutomationRow | null> {
    const hash = createHash('sha256').update(token).digest();
    const row = await selectByTokenHash(db, hash);
    const isKnown = timingSafeEqual(row?.webhook_token_hash ?? Buffer.alloc(hash.length), hash);
    const secret = row ? secretOf(row) : null;
    const isSigned = isSignedWith(secret ?? NO_SECRET, { bytes, signature: signature ?? '' });
    if (!row || !isKnown || !hasTrigger(row, 'custom')) return null;
    return secret === null || isSigned ? row : null;
  }

  function secretOf({ id, webhook_secret: sealed }: AutomationRow): string | null {
    return sealed && sealer.open(sealed, sealedContext('automation', 'webhook_secret', id));
  }

  return { receive };
}
