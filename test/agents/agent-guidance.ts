import path from 'node:path';
import { installSkills } from '../../src/engine/skills.ts';
import type { AgentStage } from './agent-stage.ts';

/** Gives agents what an environment may give them: a system prompt, MCP servers of each kind, and a skill. */
export function guideAgents(stage: AgentStage): void {
  stage.guidance.systemPrompt = environmentPrompt;
  stage.guidance.mcpServers = mcpServers(stage);
  installSkills(stage.home, [skill]);
}

export const environmentPrompt = 'The word of this environment is marmalade.';
export const skillDescription = 'How sheep are counted here.';
const skill = {
  slug: 'counting-sheep',
  files: [
    {
      path: 'SKILL.md',
      contentBase64: Buffer.from(
        `---\nname: counting-sheep\ndescription: ${skillDescription}\n---\nCount them twice.\n`,
      ).toString('base64'),
    },
  ],
};

function mcpServers({ gateway }: AgentStage): AgentStage['guidance']['mcpServers'] {
  const url = `http://127.0.0.1:${gateway.port}`;
  const headers = { authorization: `Bearer ${gateway.secret}` };
  return {
    stdio: {
      transport: 'stdio',
      command: process.execPath,
      args: [path.join(import.meta.dirname, 'mcp-process.ts')],
      env: { MCP_NAME: 'stdio' },
    },
    http: { transport: 'http', url: `${url}/http/mcp`, headers },
    sse: { transport: 'sse', url: `${url}/sse`, headers },
  };
}
