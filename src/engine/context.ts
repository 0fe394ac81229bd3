import type { BootPlan, BootRepository, EngineReport } from './protocol.ts';

/** What every part of the engine is given. */
export type EngineContext = {
  /** The home directory as this process sees it. */
  home: string;
  /** ~/.replica, the folder that belongs to the service. */
  folder: string;
  secret: string;
  sandboxId: string;
  incarnation: number;
  /** The port on loopback behind which the gateway is. */
  gatewayPort: number;
  now: () => Date;
  /** Puts a report on disk; it reaches the gateway in order, sooner or later, even across kills. */
  report(report: EngineReport): Promise<void>;
  /** Waits until everything reported so far was taken by the gateway. */
  flush(signal: AbortSignal): Promise<void>;
  gateway: GatewayClient;
  /** The environment of every process that works for the user: variables of the workspace, proxy, HOME, PATH. */
  childEnvironment(): Record<string, string>;
  /** The repositories of the boot this engine was given. */
  repositories(): readonly BootRepository[];
  /** What agents are told and given, by the same boot. */
  guidance(): Pick<BootPlan, 'mcpServers' | 'systemPrompt'>;
  /** Where the programs of the agents are. */
  agentsFolder: string;
  log(line: string): void;
  /** Tells the user, with the end of the boot, what is not as it should be. */
  warn(sentence: string): void;
};

/** Requests over the gateway's socket, with the engine's secret. */
export type GatewayClient = {
  request(request: GatewayRequest): Promise<GatewayAnswer>;
};

export type GatewayRequest = {
  method: string;
  path: string;
  headers?: Record<string, string>;
  body?: Buffer | NodeJS.ReadableStream;
  signal?: AbortSignal;
};

export type GatewayAnswer = { status: number; headers: Record<string, string>; body: Buffer };
