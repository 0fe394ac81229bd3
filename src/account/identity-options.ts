import { randomUUID } from 'node:crypto';
import type { BetterAuthOptions } from 'better-auth';
import { bearer } from 'better-auth/plugins/bearer';
import { deviceAuthorization } from 'better-auth/plugins/device-authorization';
import { jwt } from 'better-auth/plugins/jwt';
import { organization } from 'better-auth/plugins/organization';
import { adminAc, memberAc } from 'better-auth/plugins/organization/access';
import type { Logger } from 'pino';
import { deviceClientId, passwordLength } from '../contract/account.ts';
import { newId } from '../lib/ids.ts';
import { accessTokenAlgorithm, accessTokenSeconds, signingKeyGraceSeconds } from './access-token.ts';
import { clientAddressHeader, identityPath } from './identity-endpoints.ts';

const DAY_SECONDS = 24 * 60 * 60;
const MINUTE_SECONDS = 60;

type Settings = {
  secret: string;
  baseUrl: string;
  log: Logger;
  /** The organization a person's token speaks for; null when the person belongs to none. */
  organizationOf: (login: { personId: string; preferred: string | null }) => Promise<string | null>;
};

/**
 * How better-auth is set up, apart from the database. Nothing here calls out: there is no mail, no social login and no
 * telemetry. What is not said is left to the defaults of the pinned version, except where those depend on NODE_ENV.
 */
export function identityOptions({ secret, baseUrl, log, organizationOf }: Settings) {
  // A path in the base URL belongs to a proxy in front; routes, cookies and origins go by the origin alone.
  const { origin, protocol } = new URL(baseUrl);
  return {
    appName: 'Replica Service',
    baseURL: origin,
    basePath: identityPath,
    // Given as a list, because an environment variable of better-auth's own would win over a single secret.
    secrets: [{ version: 1, value: secret }],
    trustedOrigins: [origin],
    telemetry: { enabled: false },
    emailAndPassword: {
      enabled: true,
      minPasswordLength: passwordLength.min,
      maxPasswordLength: passwordLength.max,
      autoSignIn: false,
    },
    user: { modelName: 'person', fields: { emailVerified: 'email_verified', ...times } },
    session: {
      modelName: 'login_session',
      expiresIn: 30 * DAY_SECONDS,
      updateAge: DAY_SECONDS,
      fields: {
        userId: 'person_id',
        expiresAt: 'expires_at',
        ipAddress: 'ip_address',
        userAgent: 'user_agent',
        ...times,
      },
    },
    account: { modelName: 'login_account', fields: { ...accountFields, ...times } },
    verification: { modelName: 'login_verification', fields: { expiresAt: 'expires_at', ...times } },
    rateLimit: {
      enabled: true,
      // In the database, so that all processes count together.
      storage: 'database' as const,
      modelName: 'login_attempt',
      fields: { lastRequest: 'last_request' },
      window: MINUTE_SECONDS,
      max: 600,
      customRules: {
        '/sign-in/email': { window: MINUTE_SECONDS, max: 10 },
        '/change-password': { window: MINUTE_SECONDS, max: 10 },
        // User codes are short; this many guesses in the half hour that a code lives find none.
        '/device': { window: MINUTE_SECONDS, max: 20 },
      },
    },
    advanced: {
      cookiePrefix: 'replica',
      useSecureCookies: protocol === 'https:',
      // Said outright: the default drops both checks when NODE_ENV is "test".
      disableOriginCheck: false,
      disableCSRFCheck: false,
      ipAddress: { ipAddressHeaders: [clientAddressHeader] },
      // Whoever holds an invitation's id may use it, and ids made in order can be guessed from each other.
      database: {
        generateId: ({ model }: { model: string }) => (model === 'invitation' ? randomUUID() : newId()),
      },
    },
    logger: {
      level: 'warn' as const,
      log: (level, message, ...rest) => writeLog(log, { level, message, rest }),
    },
    // What is not a refusal, such as a lost database, comes to us as it is, and one place decides what a caller sees.
    onAPIError: { throw: true },
    plugins: [
      organization({
        creatorRole: 'admin',
        roles: { admin: adminAc, member: memberAc },
        allowUserToCreateOrganization: false,
        disableOrganizationDeletion: true,
        membershipLimit: 10_000,
        // The invitation's id is the proof: an admin hands it over, no mail is sent.
        requireEmailVerificationOnInvitation: false,
        schema: {
          organization: { fields: { createdAt: 'created_at' } },
          member: {
            fields: { organizationId: 'organization_id', userId: 'person_id', createdAt: 'created_at' },
          },
          invitation: {
            fields: {
              organizationId: 'organization_id',
              inviterId: 'inviter_id',
              expiresAt: 'expires_at',
              createdAt: 'created_at',
            },
          },
          session: { fields: { activeOrganizationId: 'active_organization_id' } },
        },
      }),
      jwt({
        disableSettingJwtHeader: true,
        jwks: {
          keyPairConfig: { alg: accessTokenAlgorithm, crv: 'Ed25519' },
          rotationInterval: 90 * DAY_SECONDS,
          gracePeriod: signingKeyGraceSeconds,
        },
        jwt: {
          issuer: baseUrl,
          audience: baseUrl,
          expirationTime: `${accessTokenSeconds}s`,
          definePayload: async ({ user, session }) => ({
            organization_id: await organizationOf({
              personId: user.id,
              preferred: (session.activeOrganizationId as string | null | undefined) ?? null,
            }),
            email: user.email,
          }),
        },
        schema: {
          jwks: {
            modelName: 'signing_key',
            fields: {
              publicKey: 'public_key',
              privateKey: 'private_key',
              createdAt: 'created_at',
              expiresAt: 'expires_at',
            },
          },
        },
      }),
      bearer(),
      deviceAuthorization({
        verificationUri: `${baseUrl}/device`,
        expiresIn: '30m',
        interval: '2s',
        validateClient: (clientId: string) => clientId === deviceClientId,
        schema: { deviceCode: { modelName: 'device_code', fields: deviceCodeFields } },
      }),
    ],
  } satisfies BetterAuthOptions;
}

const times = { createdAt: 'created_at', updatedAt: 'updated_at' };

const accountFields = {
  userId: 'person_id',
  accountId: 'account_id',
  providerId: 'provider_id',
  accessToken: 'access_token',
  refreshToken: 'refresh_token',
  idToken: 'id_token',
  accessTokenExpiresAt: 'access_token_expires_at',
  refreshTokenExpiresAt: 'refresh_token_expires_at',
};

const deviceCodeFields = {
  deviceCode: 'device_code',
  userCode: 'user_code',
  userId: 'person_id',
  expiresAt: 'expires_at',
  lastPolledAt: 'last_polled_at',
  pollingInterval: 'polling_interval',
  clientId: 'client_id',
};

/** Only errors are taken from the further arguments: others hold parts of requests. */
function writeLog(log: Logger, entry: { level: string; message: string; rest: unknown[] }): void {
  const err = entry.rest.find((part) => part instanceof Error);
  if (entry.level === 'error') log.error({ err, reason: entry.message }, 'identity');
  else log.warn({ err, reason: entry.message }, 'identity');
}
