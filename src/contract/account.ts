import { z } from 'zod';
import { id, label, pageQuery, success, text, time } from './common.ts';
import type { Operation } from './operation.ts';

/** The client that the device login at `/v1/auth/device/code` is for. */
export const deviceClientId = 'replica-cli';

/** In characters. */
export const passwordLength = { min: 8, max: 128 };

/** Addresses are compared without regard to case, so they are kept in lower case. */
export const email = text(254).toLowerCase().pipe(z.email('must be an email address'));

const password = text(passwordLength.max).min(
  passwordLength.min,
  `must be at least ${passwordLength.min} characters`,
);

const role = z.enum(['admin', 'member']).describe('`admin` manages people, keys and repositories.');

const pageFields = { total: z.int(), page: z.int(), limit: z.int(), total_pages: z.int() };

const apiKey = z
  .object({
    id,
    name: z.string(),
    prefix: z.string().describe('How the key begins, to tell keys apart.'),
    created_at: time,
    last_used_at: time.nullable().describe('Exact to about half a minute.'),
  })
  .meta({ id: 'ApiKey' });

const person = z.object({ id, name: z.string(), email: z.string() }).meta({ id: 'Person' });

const organization = z.object({ id, name: z.string(), slug: z.string() }).meta({ id: 'Organization' });

const member = z
  .object({ user_id: id, name: z.string(), email: z.string(), role, created_at: time })
  .meta({ id: 'Member' });

const invitation = z
  .object({
    id: id.describe(
      'Also the secret with which the invitation is accepted; hand it to the invited person only.',
    ),
    email: z.string(),
    role,
    status: z.enum(['pending', 'expired']),
    invited_by: id,
    expires_at: time,
    created_at: time,
  })
  .meta({ id: 'Invitation' });

const apiKeyBody = z.object({ name: label(100) });
const apiKeyParams = z.object({ apiKeyId: id });
const newApiKey = z.object({
  api_key: apiKey,
  key: z.string().describe('The key itself; shown this once.'),
});
const apiKeyPage = z.object({ api_keys: z.array(apiKey), ...pageFields });
const memberParams = z.object({ userId: id });
const invitationParams = z.object({ invitationId: id });

export const accountOperations = {
  getCaller: {
    method: 'GET',
    path: '/v1/me',
    tag: 'Account',
    summary: 'Tell who the caller is',
    access: 'member',
    answers: {
      200: z.object({
        organization,
        person: person.nullable().describe('Null for an org API key.'),
        api_key: apiKey.nullable().describe('Null for a JWT.'),
        role,
      }),
    },
  },
  createPersonalApiKey: {
    method: 'POST',
    path: '/v1/user/api-keys',
    tag: 'API keys',
    summary: 'Create a personal API key',
    description: 'The key acts for the person who makes it, within the organization of the JWT.',
    access: 'person',
    body: apiKeyBody,
    answers: { 201: newApiKey },
    errors: ['limit_reached'],
  },
  listPersonalApiKeys: {
    method: 'GET',
    path: '/v1/user/api-keys',
    tag: 'API keys',
    summary: "List the caller's personal API keys",
    access: 'person',
    query: z.object(pageQuery(10)),
    answers: { 200: apiKeyPage },
  },
  deletePersonalApiKey: {
    method: 'DELETE',
    path: '/v1/user/api-keys/{apiKeyId}',
    tag: 'API keys',
    summary: 'Delete a personal API key',
    description: 'The key is refused everywhere within a second.',
    access: 'person',
    params: apiKeyParams,
    answers: { 200: success },
  },
  createOrgApiKey: {
    method: 'POST',
    path: '/v1/organization/api-keys',
    tag: 'API keys',
    summary: 'Create an org API key',
    description: 'The key acts for the organization itself, with the rights of an admin.',
    access: 'admin_person',
    body: apiKeyBody,
    answers: { 201: newApiKey },
    errors: ['limit_reached'],
  },
  listOrgApiKeys: {
    method: 'GET',
    path: '/v1/organization/api-keys',
    tag: 'API keys',
    summary: 'List org API keys',
    access: 'admin_person',
    query: z.object(pageQuery(10)),
    answers: { 200: apiKeyPage },
  },
  deleteOrgApiKey: {
    method: 'DELETE',
    path: '/v1/organization/api-keys/{apiKeyId}',
    tag: 'API keys',
    summary: 'Delete an org API key',
    description: 'The key is refused everywhere within a second.',
    access: 'admin_person',
    params: apiKeyParams,
    answers: { 200: success },
  },
  listMembers: {
    method: 'GET',
    path: '/v1/organization/members',
    tag: 'People',
    summary: 'List the members of the organization',
    access: 'member',
    query: z.object(pageQuery(20)),
    answers: { 200: z.object({ members: z.array(member), ...pageFields }) },
  },
  updateMember: {
    method: 'PATCH',
    path: '/v1/organization/members/{userId}',
    tag: 'People',
    summary: "Change a member's role",
    description: 'The last admin stays admin.',
    access: 'admin_person',
    params: memberParams,
    body: z.object({ role }),
    answers: { 200: z.object({ member }) },
    errors: ['last_admin'],
  },
  removeMember: {
    method: 'DELETE',
    path: '/v1/organization/members/{userId}',
    tag: 'People',
    summary: 'Remove a member',
    description: "The member's personal API keys end with the membership. The last admin cannot be removed.",
    access: 'admin_person',
    params: memberParams,
    answers: { 200: success },
    errors: ['last_admin'],
  },
  createInvitation: {
    method: 'POST',
    path: '/v1/organization/invitations',
    tag: 'People',
    summary: 'Invite a person',
    description: "No mail is sent: hand the invitation's id to the person. It is valid for a week.",
    access: 'admin_person',
    body: z.object({ email, role: role.default('member') }),
    answers: { 201: z.object({ invitation }) },
    errors: ['already_exists', 'limit_reached'],
  },
  listInvitations: {
    method: 'GET',
    path: '/v1/organization/invitations',
    tag: 'People',
    summary: 'List invitations that nobody has accepted',
    access: 'admin_person',
    query: z.object(pageQuery(20)),
    answers: { 200: z.object({ invitations: z.array(invitation), ...pageFields }) },
  },
  deleteInvitation: {
    method: 'DELETE',
    path: '/v1/organization/invitations/{invitationId}',
    tag: 'People',
    summary: 'Withdraw an invitation',
    access: 'admin_person',
    params: invitationParams,
    answers: { 200: success },
  },
  acceptInvitation: {
    method: 'POST',
    path: '/v1/invitations/{invitationId}/accept',
    tag: 'People',
    summary: 'Accept an invitation as a new person',
    description:
      'Makes the person and the membership. `email` is the invited address. A person who has an account already ' +
      'signs in and sends the id as `invitationId` to `POST /v1/auth/organization/accept-invitation` instead.',
    access: 'anyone',
    params: invitationParams,
    body: z.object({ email, name: label(100), password }),
    answers: { 201: z.object({ organization, person, role }) },
    errors: ['already_exists'],
  },
} as const satisfies Record<string, Operation>;
