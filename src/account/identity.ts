import type { Db } from '../db/database.ts';
import type { IdentityLibrary, IdentityParts } from './identity-library.ts';

export type Identity = ReturnType<typeof createIdentity>;
type Enrolment = ReturnType<IdentityLibrary['within']>;

/**
 * Accounts, passwords, sessions, device logins and signed tokens. All of it is better-auth's work, which is loaded
 * when it is first needed: it takes as long to load as the rest of the service, and requests with a key never need it.
 */
export function createIdentity(parts: IdentityParts) {
  let loading: Promise<IdentityLibrary> | null = null;
  const load = () => {
    loading ??= import('./identity-library.ts').then(({ openIdentityLibrary }) => openIdentityLibrary(parts));
    return loading;
  };

  return {
    baseUrl: parts.baseUrl,

    /** Answers a request under /v1/auth. */
    handle: async (request: Request) => (await load()).handle(request),

    /** Signs the token that the person would get at /v1/auth/token. */
    issueAccessToken: async (claims: Parameters<IdentityLibrary['issueAccessToken']>[0]) =>
      (await load()).issueAccessToken(claims),

    /** The same on a transaction: what it writes is committed or dropped with the rest. */
    within(tx: Db): Enrolment {
      const inside = async () => (await load()).within(tx);
      return {
        signUp: async (wanted) => (await inside()).signUp(wanted),
        createPerson: async (wanted) => (await inside()).createPerson(wanted),
        createOrganization: async (wanted) => (await inside()).createOrganization(wanted),
        addMember: async (wanted) => (await inside()).addMember(wanted),
      };
    },
  };
}
