import { z } from 'zod';
import { email } from '../contract/account.ts';
import { id, text } from '../contract/common.ts';

/** The address header by which the HTTP side tells who calls; it is never taken from outside. */
export const clientAddressHeader = 'x-replica-client-address';
export const identityPath = '/v1/auth';

/** A path of better-auth that callers may use, and what they may send to it. */
export type IdentityEndpoint = {
  method: 'GET' | 'POST';
  /** Below /v1/auth. */
  path: `/${string}`;
  /** Fields that are not named here never reach better-auth. */
  body?: z.ZodObject;
  query?: z.ZodObject;
};

const anyPassword = text(1_000);
const code = text(200);
const userCode = z.object({ userCode: code });

/** Everything of better-auth that is reachable over HTTP; its other paths answer 404. */
export const identityEndpoints: readonly IdentityEndpoint[] = [
  {
    method: 'POST',
    path: '/sign-in/email',
    body: z.object({ email, password: anyPassword, rememberMe: z.boolean().optional() }),
  },
  { method: 'POST', path: '/sign-out' },
  { method: 'GET', path: '/get-session' },
  { method: 'GET', path: '/token' },
  { method: 'GET', path: '/jwks' },
  {
    method: 'POST',
    path: '/change-password',
    body: z.object({
      currentPassword: anyPassword,
      newPassword: anyPassword,
      revokeOtherSessions: z.boolean().optional(),
    }),
  },
  { method: 'POST', path: '/revoke-other-sessions' },
  { method: 'POST', path: '/device/code', body: z.object({ client_id: code, scope: code.optional() }) },
  {
    method: 'POST',
    path: '/device/token',
    body: z.object({ grant_type: code, device_code: code, client_id: code }),
  },
  { method: 'GET', path: '/device', query: z.object({ user_code: code }) },
  { method: 'POST', path: '/device/approve', body: userCode },
  { method: 'POST', path: '/device/deny', body: userCode },
  { method: 'GET', path: '/organization/list' },
  { method: 'POST', path: '/organization/set-active', body: z.object({ organizationId: id }) },
  { method: 'POST', path: '/organization/accept-invitation', body: z.object({ invitationId: id }) },
];
