import { createHash } from 'node:crypto';
import { AppError } from '../contract/error.ts';
import type { gitEventOperations } from '../contract/git-event.ts';
import type { Handlers } from '../http/handler.ts';
import { JsonBodyError, parseJsonBody } from '../lib/json-body.ts';
import { textAt } from './reading.ts';
import type { GitEventService } from './service.ts';
import { isSameSecret, isSignedWith } from './signature.ts';

const MAX_JSON_DEPTH = 64;
/** What is longer is not even read before somebody's secret is proven: that takes more time than the proof. */
const UNPROVEN_BYTES = 262_144;
const FORM_START = Buffer.from('payload=');

export function gitEventHandlers(
  gitEvents: Pick<GitEventService, 'requireSecret' | 'receive'>,
): Handlers<typeof gitEventOperations> {
  return {
    async receiveGithubEvent({ db, headers, rawBody }) {
      const signature = headers['x-hub-signature-256'] ?? '';
      const isProvenBy = (secret: string) => isSignedWith(secret, { bytes: rawBody, signature });
      const name = requireHeader('X-GitHub-Event', headers['x-github-event']);
      const id = requireHeader('X-GitHub-Delivery', headers['x-github-delivery']);
      if (rawBody.length > UNPROVEN_BYTES) await gitEvents.requireSecret(db, { kind: 'github', isProvenBy });
      const accepted = await gitEvents.receive(db, {
        kind: 'github',
        host: headers['x-github-enterprise-host']?.toLowerCase() ?? 'github.com',
        name,
        id,
        payload: parse(jsonOf(rawBody)),
        isProvenBy,
      });
      return { status: 202, body: { accepted } };
    },

    async receiveGitlabEvent({ db, headers, rawBody }) {
      const token = headers['x-gitlab-token'] ?? '';
      const isProvenBy = (secret: string) => isSameSecret(secret, token);
      if (rawBody.length > UNPROVEN_BYTES) await gitEvents.requireSecret(db, { kind: 'gitlab', isProvenBy });
      const payload = parse(rawBody);
      const accepted = await gitEvents.receive(db, {
        kind: 'gitlab',
        host: URL.parse(headers['x-gitlab-instance'] ?? '')?.host ?? 'gitlab.com',
        name: textAt(payload, 'object_kind'),
        // Older versions send a UUID only, which is the same for events that set off each other.
        id: headers['idempotency-key'] ?? `${headers['x-gitlab-event-uuid'] ?? ''}:${digest(rawBody)}`,
        payload,
        isProvenBy,
      });
      return { status: 202, body: { accepted } };
    },
  };
}

/** GitHub sends JSON as it is or, when the hook says so, as the one field of a form. No JSON begins like that. */
function jsonOf(bytes: Buffer): Buffer {
  if (!bytes.subarray(0, FORM_START.length).equals(FORM_START)) return bytes;
  return Buffer.from(new URLSearchParams(bytes.toString('latin1')).get('payload') ?? '');
}

function parse(bytes: Buffer): unknown {
  try {
    return parseJsonBody(bytes, { maxDepth: MAX_JSON_DEPTH });
  } catch (error) {
    if (error instanceof JsonBodyError)
      throw new AppError('invalid_request', `The request body is refused: ${error.message}.`);
    throw error;
  }
}

function requireHeader(header: string, value: string | undefined): string {
  if (value) return value;
  throw new AppError('invalid_request', `The header ${header} is missing.`);
}

function digest(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex');
}
