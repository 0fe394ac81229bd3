/** Written into the bundle when it is made. */
export const ENGINE_VERSION = process.env.REPLICA_ENGINE_VERSION ?? 'source';
