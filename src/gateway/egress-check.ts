import { networkInterfaces } from 'node:os';
import { AppError } from '../contract/error.ts';
import {
  type Lookup,
  PrivateTargetError,
  resolveTarget,
  UnresolvedTargetError,
} from '../lib/address-guard.ts';
import type { SandboxIdentity } from '../sandbox/service.ts';
import { lookUpByDns, lookUpEverywhere } from './egress-lookup.ts';
import {
  decideEgress,
  type EgressPolicy,
  type EgressReason,
  type EgressTarget,
  normalizeHost,
} from './egress-policy.ts';

/** One attempt to reach something, for the replica's record of what it contacted. */
export type EgressContact = { host: string; port: number; allowed: boolean; reason: EgressReason };

/** A target that was checked, with the only addresses that may be connected to. */
export type CheckedTarget = EgressTarget & { addresses: string[] };

export type EgressCheckOptions = {
  policyOf(identity: SandboxIdentity): Promise<EgressPolicy>;
  /** Called for each decision, so it has to be quick and to put repetitions together. */
  record(identity: SandboxIdentity, contact: EgressContact): void;
  allowPrivateTargets: boolean;
  lookup?: Lookup;
};

type Attempt = { identity: SandboxIdentity; target: EgressTarget; signal: AbortSignal };

/** Decides whether a sandbox may reach a target, looks its name up and checks every address behind it. */
export function createEgressCheck(options: EgressCheckOptions) {
  const { policyOf, record } = options;

  return async function check({ identity, target, signal }: Attempt): Promise<CheckedTarget> {
    const { port } = target;
    const host = normalizeHost(target.host);
    // What is no host may be anything of any length, so it is not recorded.
    if (host === null) throw new AppError('invalid_request', 'The request does not name a valid host.');
    const finish = (allowed: boolean, reason: EgressReason) =>
      record(identity, { host, port, allowed, reason });
    const decision = decideEgress(await policyOf(identity), { host, port });
    if (!decision.isAllowed) {
      finish(false, decision.reason);
      throw refusal({ host, port }, decision.reason);
    }
    const mayBePrivate = options.allowPrivateTargets && decision.isListed;
    const lookup = options.lookup ?? (mayBePrivate ? lookUpEverywhere : lookUpByDns);
    try {
      const addresses = await resolveTarget(host, { allowPrivateTargets: mayBePrivate, lookup, signal });
      if (!mayBePrivate && addresses.some(isNearby)) {
        finish(false, 'private_address');
        throw refusal({ host, port }, 'private_address');
      }
      finish(true, decision.reason);
      return { host, port, addresses };
    } catch (error) {
      const reason = reasonOf(error);
      if (reason === null) throw error;
      finish(false, reason);
      throw refusal({ host, port }, reason);
    }
  };
}

function reasonOf(error: unknown): EgressReason | null {
  if (error instanceof PrivateTargetError) return 'private_address';
  return error instanceof UnresolvedTargetError ? 'unresolved' : null;
}

/** Says which host it was and how to allow it. */
function refusal({ host, port }: EgressTarget, reason: EgressReason): AppError {
  const sentences: Partial<Record<EgressReason, string>> = {
    no_egress: `this environment allows no connections to the outside. Set its egress policy to "allowlist" or "open" to allow some.`,
    not_listed: `the host is not on the allow-list of this environment. Add "${host}" to its egress hosts to allow it.`,
    port_not_allowed: `this port is not allowed. Add "${host}:${port}" to the egress hosts of this environment to allow it.`,
    private_address: `its address is not public. If the operator allows private targets, add "${host}:${port}" to the egress hosts of this environment.`,
  };
  const sentence = sentences[reason];
  return sentence === undefined
    ? new AppError('upstream_unavailable', `No address is known for the host ${host}.`)
    : new AppError('forbidden', `${host}:${port} cannot be reached: ${sentence}`);
}

/** Public by their number, and yet only for the machine itself: metadata of clouds, and its own addresses. */
const metadataAddresses = new Set(['168.63.129.16', '192.0.0.192', '100.100.100.200']);

function isNearby(address: string): boolean {
  const own = Object.values(networkInterfaces()).flatMap((list) => list?.map((each) => each.address) ?? []);
  return metadataAddresses.has(address) || own.includes(address);
}
