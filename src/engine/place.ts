/** Where things are inside a sandbox. Driver and engine agree on these and on nothing else about the file system. */
export const place = {
  home: '/home/replica',
  /** Read-only: the engine's bundle, its compile cache and the Node that runs it. */
  engineBundle: '/opt/replica/engine.mjs',
  compileCache: '/opt/replica/compile-cache',
  node: '/opt/replica/node',
  /** Read-only: the programs of the agents, one folder for each version. */
  agents: '/opt/replica/agents',
  /** Read-only folder with the listening socket of the gateway, which the control plane may replace. */
  gatewayFolder: '/run/replica',
  gatewaySocket: '/run/replica/gateway.sock',
} as const;

/** The listening socket of the engine is handed to it open, so that nothing inside can take its place. */
export const ENGINE_LISTEN_FD = 3;

/** Where the engine opens the gateway to programs that can only speak TCP. */
export const GATEWAY_PORT = 8484;

/** Variables of the engine's own process. */
export const engineVariables = {
  secret: 'REPLICA_ENGINE_SECRET',
  sandboxId: 'REPLICA_SANDBOX_ID',
  /** Goes up with each start of the sandbox. */
  incarnation: 'REPLICA_INCARNATION',
  /** Set where there is no mount namespace: the folder that stands for the home. */
  home: 'REPLICA_ENGINE_HOME',
  /** Set where there is no mount namespace: the gateway's socket. */
  gatewaySocket: 'REPLICA_ENGINE_GATEWAY',
  /** Set where there is no mount namespace: the folder of the agents. */
  agents: 'REPLICA_ENGINE_AGENTS',
  /** Set where there is no network namespace: 0 lets the system choose the port of the gateway. */
  gatewayPort: 'REPLICA_ENGINE_GATEWAY_PORT',
} as const;
