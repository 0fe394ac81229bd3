import { engineVariables, GATEWAY_PORT, place } from './place.ts';

export type EngineSettings = {
  secret: string;
  sandboxId: string;
  incarnation: number;
  home: string;
  gatewaySocket: string;
  /** 0 lets the system choose. */
  gatewayPort: number;
  agentsFolder: string;
};

/** What the driver has set for this process; throws a sentence that names the variable at fault. */
export function readSettings(environment: NodeJS.ProcessEnv): EngineSettings {
  const secret = required(environment, engineVariables.secret);
  // It becomes a header and the password of a URL.
  if (!/^[\x21-\x7e]+$/.test(secret))
    throw new Error(`${engineVariables.secret} has a character no header can carry.`);
  return {
    secret,
    sandboxId: required(environment, engineVariables.sandboxId),
    incarnation: whole(engineVariables.incarnation, required(environment, engineVariables.incarnation), 1),
    home: environment[engineVariables.home] || place.home,
    gatewaySocket: environment[engineVariables.gatewaySocket] || place.gatewaySocket,
    gatewayPort: whole(
      engineVariables.gatewayPort,
      environment[engineVariables.gatewayPort] || String(GATEWAY_PORT),
      0,
    ),
    agentsFolder: environment[engineVariables.agents] || place.agents,
  };
}

function required(environment: NodeJS.ProcessEnv, name: string): string {
  const value = environment[name];
  if (!value) throw new Error(`${name} is not set.`);
  return value;
}

function whole(name: string, text: string, least: number): number {
  const value = Number(text);
  if (!/^\d+$/.test(text) || !Number.isSafeInteger(value) || value < least) {
    throw new Error(`${name} must be a whole number from ${least} on.`);
  }
  return value;
}
