import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { newId } from '../../src/lib/ids.ts';
import {
  type ApiCall,
  caller,
  type Organization,
  type Person,
  startWorld,
  type World,
} from '../world/world.ts';

const members = '/v1/organization/members';
const invitations = '/v1/organization/invitations';
const password = 'correct horse battery';

let world: World;
let org: Organization;
let admin: Person;

beforeAll(async () => {
  world = await startWorld();
});
afterAll(() => world.close());
beforeEach(async () => {
  org = await world.org();
  admin = await world.person(org, 'admin');
  // Sign-ins of earlier tests must not use up what the limit by address leaves to this one.
  await world.db.deleteFrom('login_attempt').execute();
});

const codeOf = ({ status, headers }: Awaited<ReturnType<ApiCall>>) => [
  status,
  headers.get('x-service-error-code'),
];
const freshEmail = () => `${newId()}@example.com`;

async function invite(email: string, role = 'member'): Promise<string> {
  const { status, body } = await admin.call('POST', invitations, { email, role });
  expect(status).toBe(201);
  return body.invitation.id;
}

const accept = (id: string, body: unknown) => world.call('POST', `/v1/invitations/${id}/accept`, body);

/** Signs in and returns the session token and a JWT of it. */
async function signIn(email: string) {
  const signedIn = await world.call('POST', '/v1/auth/sign-in/email', { email, password });
  expect(signedIn.status).toBe(200);
  const session = caller(world.url, signedIn.body.token);
  const { body } = await session('GET', '/v1/auth/token');
  return { session, call: caller(world.url, body.token) };
}

describe('GET /v1/me', () => {
  test('tells an org key, a personal key and a person apart', async () => {
    const organization = { id: org.id, name: 'Test', slug: expect.any(String) };
    const person = { id: admin.id, name: expect.any(String), email: admin.email };
    const key = await admin.personalKey();
    expect((await org.call('GET', '/v1/me')).body).toMatchObject({
      organization,
      person: null,
      api_key: { name: 'test' },
      role: 'admin',
    });
    const own = (await key.call('GET', '/v1/me')).body;
    expect(own).toMatchObject({ organization, person, api_key: { id: key.id }, role: 'admin' });
    const me = (await admin.call('GET', '/v1/me')).body;
    expect(me).toEqual({ organization, person, api_key: null, role: 'admin' });
  });

  test('needs a credential', async () => {
    expect(codeOf(await world.call('GET', '/v1/me'))).toEqual([401, 'unauthenticated']);
  });
});

describe('members', () => {
  test('are listed to everyone in the organization, with pages', async () => {
    const member = await world.person(org, 'member');
    await world.person(await world.org(), 'member');
    const { body } = await member.call('GET', members);
    expect(body).toEqual({
      members: [
        {
          user_id: admin.id,
          name: expect.any(String),
          email: admin.email,
          role: 'admin',
          created_at: expect.any(String),
        },
        {
          user_id: member.id,
          name: expect.any(String),
          email: member.email,
          role: 'member',
          created_at: expect.any(String),
        },
      ],
      total: 2,
      page: 1,
      limit: 20,
      total_pages: 1,
    });
    expect((await org.call('GET', `${members}?limit=1&page=2`)).body).toMatchObject({
      members: [{ user_id: member.id }],
      total_pages: 2,
    });
  });

  test('a changed role counts at the next request of a JWT', async () => {
    const member = await world.person(org, 'member');
    expect((await member.call('GET', invitations)).status).toBe(403);
    const changed = await admin.call('PATCH', `${members}/${member.id}`, { role: 'admin' });
    expect(changed).toMatchObject({ status: 200, body: { member: { user_id: member.id, role: 'admin' } } });
    expect((await member.call('GET', invitations)).status).toBe(200);
  });

  test('a removed member is out at the next request', async () => {
    const member = await world.person(org, 'member');
    expect((await admin.call('DELETE', `${members}/${member.id}`)).body).toEqual({ success: true });
    expect((await member.call('GET', '/v1/me')).status).toBe(401);
    expect((await admin.call('DELETE', `${members}/${member.id}`)).status).toBe(404);
  });

  test('the last admin can be neither demoted nor removed', async () => {
    for (const answer of [
      await admin.call('PATCH', `${members}/${admin.id}`, { role: 'member' }),
      await admin.call('DELETE', `${members}/${admin.id}`),
    ]) {
      expect(codeOf(answer)).toEqual([409, 'last_admin']);
    }
    expect((await admin.call('PATCH', `${members}/${admin.id}`, { role: 'admin' })).status).toBe(200);
  });

  test('of two admins who remove each other at the same time one stays', async () => {
    const other = await world.person(org, 'admin');
    await Promise.all([
      admin.call('DELETE', `${members}/${other.id}`),
      other.call('PATCH', `${members}/${admin.id}`, { role: 'member' }),
    ]);
    const { body } = await org.call('GET', members);
    expect(body.members.filter(({ role }: { role: string }) => role === 'admin')).toHaveLength(1);
  });

  test('only admins with a JWT change them', async () => {
    const member = await world.person(org, 'member');
    for (const [call, status] of [
      [org.call, 401],
      [(await admin.personalKey()).call, 401],
      [member.call, 403],
    ] as const) {
      expect((await call('PATCH', `${members}/${admin.id}`, { role: 'member' })).status).toBe(status);
      expect((await call('DELETE', `${members}/${admin.id}`)).status).toBe(status);
    }
  });

  test.each([{}, { role: 'owner' }, { role: 'admin,member' }, { role: null }, { role: ['admin'] }])(
    'the role %j is refused',
    async (body) => {
      expect((await admin.call('PATCH', `${members}/${admin.id}`, body)).status).toBe(400);
    },
  );

  test('members of another organization are 404', async () => {
    const stranger = await world.person(await world.org(), 'member');
    for (const id of [stranger.id, newId(), 'nothing']) {
      expect((await admin.call('PATCH', `${members}/${id}`, { role: 'admin' })).status).toBe(404);
      expect((await admin.call('DELETE', `${members}/${id}`)).status).toBe(404);
    }
  });
});

describe('invitations', () => {
  test('let a new person in with a password of their own', async () => {
    const email = freshEmail();
    const id = await invite(email.toUpperCase(), 'admin');
    const accepted = await accept(id, { email, name: 'Ada', password });
    expect(accepted).toMatchObject({
      status: 201,
      body: { organization: { id: org.id }, person: { name: 'Ada', email }, role: 'admin' },
    });
    const { call } = await signIn(email);
    expect((await call('GET', '/v1/me')).body).toMatchObject({ person: accepted.body.person, role: 'admin' });
    expect((await admin.call('GET', invitations)).body.total).toBe(0);
  });

  test('are used once, also by two at the same time', async () => {
    const email = freshEmail();
    const id = await invite(email);
    const body = { email, name: 'Ada', password };
    const answers = await Promise.all([accept(id, body), accept(id, body), accept(id, body)]);
    expect(answers.map(({ status }) => status).sort()).toEqual([201, 404, 404]);
    expect((await accept(id, body)).status).toBe(404);
  });

  test('of two organizations for one address, accepted at the same time, make one person', async () => {
    const email = freshEmail();
    const first = await invite(email);
    const other = await world.person(await world.org(), 'admin');
    const second = (await other.call('POST', invitations, { email })).body.invitation.id;
    const body = { email, name: 'Ada', password };
    const answers = await Promise.all([accept(first, body), accept(second, body)]);
    expect(answers.map(({ status }) => status).sort()).toEqual([201, 409]);
  });

  test.each([
    ['another address', async () => ({ id: await invite(freshEmail()), email: freshEmail() })],
    ['an id that names nothing', async () => ({ id: newId(), email: freshEmail() })],
    [
      'an expired invitation',
      async () => {
        const email = freshEmail();
        const id = await invite(email);
        const past = new Date(Date.now() - 1_000);
        await world.db.updateTable('invitation').set({ expires_at: past }).where('id', '=', id).execute();
        return { id, email };
      },
    ],
    [
      'a withdrawn invitation',
      async () => {
        const email = freshEmail();
        const id = await invite(email);
        expect((await admin.call('DELETE', `${invitations}/${id}`)).status).toBe(200);
        return { id, email };
      },
    ],
  ])('with %s nobody gets in and nobody is made', async (_what, prepare) => {
    const { id, email } = await prepare();
    expect(codeOf(await accept(id, { email, name: 'Eve', password }))).toEqual([404, 'not_found']);
    const people = await world.db.selectFrom('person').select('id').where('email', '=', email).execute();
    expect(people).toEqual([]);
  });

  test.each([
    ['no password', { name: 'Ada' }],
    ['a password of 7 characters', { name: 'Ada', password: '1234567' }],
    ['a password of 129 characters', { name: 'Ada', password: 'x'.repeat(129) }],
    ['no name', { password }],
    ['a name with NUL', { name: 'A\0', password }],
  ])('with %s they are refused and stay open', async (_what, body) => {
    const email = freshEmail();
    const id = await invite(email);
    expect((await accept(id, { email, ...body })).status).toBe(400);
    expect((await accept(id, { email, name: 'Ada', password: '12345678' })).status).toBe(201);
  });

  test('a person who has an account joins only while signed in as that person', async () => {
    const email = freshEmail();
    await accept(await invite(email), { email, name: 'Ada', password });
    const otherOrg = await world.org();
    const otherAdmin = await world.person(otherOrg, 'admin');
    const made = await otherAdmin.call('POST', invitations, { email, role: 'admin' });
    const invitationId = made.body.invitation.id;
    expect(codeOf(await accept(invitationId, { email, name: 'Eve', password }))).toEqual([
      409,
      'already_exists',
    ]);

    const join = '/v1/auth/organization/accept-invitation';
    expect(codeOf(await world.call('POST', join, { invitationId }))).toEqual([401, 'unauthenticated']);
    const strangerEmail = freshEmail();
    await accept(await invite(strangerEmail), { email: strangerEmail, name: 'Eve', password });
    const stranger = await signIn(strangerEmail);
    expect(codeOf(await stranger.session('POST', join, { invitationId }))).toEqual([403, 'forbidden']);

    const ada = await signIn(email);
    expect((await ada.session('POST', join, { invitationId })).status).toBe(200);
    const { body } = await ada.session('GET', '/v1/auth/token');
    expect((await caller(world.url, body.token)('GET', '/v1/me')).body).toMatchObject({
      organization: { id: otherOrg.id },
      role: 'admin',
    });
    expect((await ada.call('GET', '/v1/me')).body).toMatchObject({
      organization: { id: org.id },
      role: 'member',
    });
    await ada.session('POST', '/v1/auth/organization/set-active', { organizationId: org.id });
    const back = (await ada.session('GET', '/v1/auth/token')).body.token;
    expect((await caller(world.url, back)('GET', '/v1/me')).body.organization.id).toBe(org.id);
  });

  test('are seen and made by admins with a JWT only, because the id lets in', async () => {
    const member = await world.person(org, 'member');
    const id = await invite(freshEmail());
    for (const [call, status] of [
      [org.call, 401],
      [member.call, 403],
      [world.call, 401],
    ] as const) {
      expect((await call('POST', invitations, { email: freshEmail() })).status).toBe(status);
      expect((await call('GET', invitations)).status).toBe(status);
      expect((await call('DELETE', `${invitations}/${id}`)).status).toBe(status);
    }
    const stranger = await world.person(await world.org(), 'admin');
    expect((await stranger.call('DELETE', `${invitations}/${id}`)).status).toBe(404);
    expect((await stranger.call('GET', invitations)).body.invitations).toEqual([]);
  });

  test('one address has one open invitation; an expired one gives way', async () => {
    const email = freshEmail();
    const id = await invite(email);
    expect(codeOf(await admin.call('POST', invitations, { email }))).toEqual([409, 'already_exists']);
    const past = new Date(Date.now() - 1_000);
    await world.db.updateTable('invitation').set({ expires_at: past }).where('id', '=', id).execute();
    expect((await admin.call('GET', invitations)).body.invitations).toMatchObject([
      { id, status: 'expired' },
    ]);
    const again = await admin.call('POST', invitations, { email });
    expect(again).toMatchObject({ status: 201, body: { invitation: { status: 'pending', role: 'member' } } });
  });

  test('a member is not invited again', async () => {
    const answer = await admin.call('POST', invitations, { email: admin.email });
    expect(codeOf(answer)).toEqual([409, 'already_exists']);
  });

  test.each([
    {},
    { email: 'nobody' },
    { email: 7 },
    { email: `${'x'.repeat(250)}@example.com` },
    { email: 'a\0@example.com' },
    { email: 'a@example.com', role: 'owner' },
  ])('%j is refused', async (body) => {
    expect(codeOf(await admin.call('POST', invitations, body))).toEqual([400, 'invalid_request']);
  });
});
