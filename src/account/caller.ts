export type Role = 'admin' | 'member';

/** Who makes a request, once the credential was checked. An org key acts with an admin's rights. */
export type Caller = {
  organizationId: string;
  kind: 'org_key' | 'personal_key' | 'person';
  /** The API key, null for a person with a JWT. */
  keyId: string | null;
  /** The person, null for an org key. */
  personId: string | null;
  role: Role;
};

/** A stable name of the caller, for rate limits, idempotency and logs. */
export function callerName(caller: Caller): string {
  return caller.keyId ? `key:${caller.keyId}` : `person:${caller.personId}`;
}
