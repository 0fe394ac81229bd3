import { parseArgs } from 'node:util';
import type { BenchedAgent } from './agent-by-hand.ts';
import { measureAgent } from './measure-agent.ts';
import { startRecordingModel } from './recording-model.ts';
import { UsageError } from './usage-error.ts';
import { withLiveService } from './with-live-service.ts';

/** Where each agent's provider would be, below the address of the model. */
const baseUrls: Record<BenchedAgent, string> = { claude: '', codex: '/v1', opencode: '/v1' };
const agents = Object.keys(baseUrls) as BenchedAgent[];

const whole = { messages: 20, wakes: 5 };
const quick = { messages: 3, wakes: 1 };

const help = `Usage: script/bench agent [options]

Starts the service with real sandboxes and real agents, whose model is a scripted one on this machine, measures what the
service adds to each agent, and removes everything again.

  --quick        ${quick.messages} messages and ${quick.wakes} wake of each agent: to see that it works
  --only AGENT   only this one of ${agents.join(', ')}; may be given several times
  --messages N   messages of each kind (${whole.messages})
  --help`;

export async function benchAgent(args: string[]): Promise<void> {
  const { values } = parseArgs({
    args,
    options: {
      quick: { type: 'boolean', default: false },
      only: { type: 'string', multiple: true, default: agents },
      messages: { type: 'string' },
      help: { type: 'boolean', short: 'h', default: false },
    },
  });
  if (values.help) return console.log(help);
  const chosen = agents.filter((agent) => values.only.includes(agent));
  const wrong = values.only.find((name) => !agents.some((agent) => agent === name));
  if (wrong !== undefined) throw new UsageError(`there is no agent "${wrong}"; --help lists them`);
  const scale = values.quick ? quick : whole;
  const messages = Number(values.messages ?? scale.messages);
  if (!Number.isSafeInteger(messages) || messages < 1)
    throw new UsageError('--messages must be a whole number from 1 on');
  await measureAll(chosen, { ...scale, messages });
}

async function measureAll(chosen: BenchedAgent[], scale: typeof whole): Promise<void> {
  await withLiveService(
    async (live, { signal, report }) => {
      await using model = await startRecordingModel(signal);
      for (const agent of chosen) {
        const body = { api_key: 'bench', base_url: `${model.url}${baseUrls[agent]}` };
        await live.client.setCodingAgent({ params: { agent }, body }, { signal });
        report(await measureAgent(agent, { live, model, scale, signal }));
      }
    },
    { REPLICA_AGENT_RUNNER: 'real' },
  );
}
