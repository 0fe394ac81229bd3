import { rmSync } from 'node:fs';
import path from 'node:path';
import { codexAgent } from '../../src/engine/agents/codex/codex.ts';
import { agentPrograms } from '../world/agents-folder.ts';
import { codexCases, plainModel, program } from './codex-cases.ts';
import { agentCases } from './conformance.ts';

agentCases(
  'codex',
  {
    agent: codexAgent,
    programs: () => agentPrograms('codex'),
    features: {
      turn: true,
      thoughts: true,
      images: true,
      model: true,
      thinking: true,
      fast: true,
      plan: true,
      goal: true,
      systemPrompt: true,
      stdio: true,
      http: true,
      sse: false,
      skills: true,
      commands: true,
      interrupt: true,
      failures: true,
      death: true,
      resume: true,
      lost: true,
    },
    history: ['event_msg', 'response_item', 'event_msg', 'response_item', 'event_msg'],
    request: {
      isMain: ({ path }) => path === '/v1/responses',
      effort: (body) => body.reasoning?.effort,
      isFast: (body) => body.service_tier === 'priority',
    },
    models: ['gpt-6-sol', plainModel],
    efforts: { low: 'low', medium: 'medium', high: 'high', max: 'xhigh' },
    ping: (server) => program(`text(await tools.mcp__${server.replaceAll('-', '_')}__ping({}));`),
    planSteps: [{ text: '<proposed_plan>\n# What to do\n</proposed_plan>' }],
    forget: (home) => rmSync(path.join(home, '.codex/sessions'), { recursive: true, force: true }),
  },
  codexCases,
);
