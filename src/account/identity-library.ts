import { betterAuth } from 'better-auth';
import { isAPIError } from 'better-auth/api';
import type { Logger } from 'pino';
import type { Db } from '../db/database.ts';
import type { Role } from './caller.ts';
import { EmailTakenError } from './identity-error.ts';
import { identityOptions } from './identity-options.ts';
import { selectLoginOrganization } from './store.ts';

export type IdentityLibrary = ReturnType<typeof openIdentityLibrary>;
export type IdentityParts = { db: Db; secret: string; baseUrl: string; log: Logger };

/** better-auth on our tables. */
export function openIdentityLibrary({ db, secret, baseUrl, log }: IdentityParts) {
  const options = identityOptions({
    secret,
    baseUrl,
    log,
    organizationOf: (login) => selectLoginOrganization(db, login),
  });
  const auth = betterAuth({
    ...options,
    // Nobody signs up by themselves: people come in by an invitation, see `acceptInvitation`.
    emailAndPassword: { ...options.emailAndPassword, disableSignUp: true },
    database: { db, type: 'postgres', transaction: true },
  });

  return {
    /** Answers a request under /v1/auth. */
    handle: (request: Request): Promise<Response> => auth.handler(request),

    /** Signs the token that the person would get at /v1/auth/token. */
    async issueAccessToken(claims: {
      personId: string;
      organizationId: string;
      email: string;
    }): Promise<string> {
      const payload = {
        sub: claims.personId,
        organization_id: claims.organizationId,
        email: claims.email,
        iat: Math.floor(Date.now() / 1000),
      };
      const { token } = await auth.api.signJWT({ body: { payload } });
      return token;
    },

    /**
     * The same better-auth on a transaction of ours: what it writes is committed or dropped with the rest. None of this
     * is reachable over HTTP by itself.
     */
    within(tx: Db) {
      const { advanced } = options;
      const inside = betterAuth({
        ...options,
        advanced: { ...advanced, database: { ...advanced.database, validateSchema: false } },
        database: { db: tx, type: 'postgres', transaction: false },
      });
      return {
        async signUp(wanted: { email: string; name: string; password: string }): Promise<string> {
          try {
            const { user } = await inside.api.signUpEmail({ body: wanted });
            return user.id;
          } catch (error) {
            const isTaken = isAPIError(error) && error.body?.code === 'FAILED_TO_CREATE_USER';
            throw isTaken ? new EmailTakenError(wanted.email) : error;
          }
        },

        /** A person without a password, who cannot sign in until one is set. */
        async createPerson(wanted: { email: string; name: string }): Promise<string> {
          const { internalAdapter } = await inside.$context;
          const user = await internalAdapter.createUser(
            { ...wanted, emailVerified: false },
            { method: 'admin' },
          );
          return user.id;
        },

        /** The creator becomes its first admin. */
        async createOrganization(wanted: { name: string; slug: string; creatorId: string }): Promise<string> {
          const { creatorId: userId, ...body } = wanted;
          const made = await inside.api.createOrganization({ body: { ...body, userId } });
          return made.id;
        },

        async addMember(wanted: { organizationId: string; personId: string; role: Role }): Promise<void> {
          const { personId: userId, ...body } = wanted;
          await inside.api.addMember({ body: { ...body, userId } });
        },
      };
    },
  };
}
