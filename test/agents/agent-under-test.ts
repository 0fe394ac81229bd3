import type { Agent } from '../../src/engine/agents/agent.ts';
import type { ThinkingLevel } from '../../src/engine/protocol.ts';
import type { RecordedRequest } from '../world/scripted-model.ts';
import type { AgentStage } from './agent-stage.ts';

/** What agents differ in. A feature that an agent has not is one that its cases are left out of. */
export const agentFeatures = [
  'turn',
  'thoughts',
  'images',
  'model',
  'thinking',
  'fast',
  'plan',
  'goal',
  'systemPrompt',
  'stdio',
  'http',
  'sse',
  'skills',
  'commands',
  'interrupt',
  'failures',
  'death',
  'resume',
  'lost',
] as const;
export type AgentFeature = (typeof agentFeatures)[number];

export type AgentUnderTest = {
  agent: Agent;
  /** The folder of its programs; a function, so that it is asked for only when the tests run. */
  programs(): string;
  /** For one that is given its key. */
  credential?: string;
  features: Record<AgentFeature, boolean>;
  /** Types of history that a turn with one tool has at least, in this order. */
  history: string[];
  /** What the model is asked for, as this agent says it. */
  request: {
    /** Whether it is one of the conversation itself, and not one for a title or the like. */
    isMain(request: RecordedRequest): boolean;
    effort(body: RecordedRequest['body']): unknown;
    isFast(body: RecordedRequest['body']): boolean;
  };
  /** Two models that it knows, the second other than its own choice. */
  models: [string, string];
  /** A model that can be fast, where its own choice cannot. */
  fastModel?: string;
  efforts: Record<ThinkingLevel, unknown>;
  /** The step of a script that calls the tool `ping` of an MCP server. */
  ping(server: string): object;
  /** How it takes the steps of a plan, from the path of the file for plans if there is one. */
  planSteps: object[];
  /** Removes what it remembers of conversations. */
  forget(home: string): void;
};

export type AgentCase = {
  feature: AgentFeature;
  name: string;
  run(stage: AgentStage, agent: AgentUnderTest): Promise<void>;
};
