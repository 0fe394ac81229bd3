/** Bounds both sides keep to: the engine so that its reports are taken, the gateway because it trusts nobody. */
export const engineLimits = {
  /** One batch of events, in bytes of JSON. */
  batchBytes: 4_000_000,
  batchEvents: 500,
  /** One event, in bytes of JSON. */
  eventBytes: 3_000_000,
  hookOutputCharacters: 60_000,
  /** The whole output of one hook that is kept; more is counted and dropped. */
  hookLogBytes: 16 * 1_048_576,
  diffCharacters: 2_000_000,
  canvasItemBytes: 5 * 1_000_000,
  canvasItems: 500,
  shadowBytes: 64 * 1_048_576,
  terminals: 8,
  terminalScrollbackBytes: 262_144,
} as const;
