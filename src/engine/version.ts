/**
 * The versions of the protocol this release speaks. A sleeping replica wakes with the engine of the release that wakes
 * it, but an engine that is already running may be older: the control plane talks to it in the highest version both
 * know, and refuses it with a sentence when there is none.
 */
export const protocolVersions = { oldest: 1, newest: 1 } as const;

/** What an engine says of itself and every batch of events carries. */
export const PROTOCOL_HEADER = 'x-replica-protocol';
