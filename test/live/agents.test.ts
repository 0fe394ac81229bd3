import { randomUUID } from 'node:crypto';
import type { Pool } from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { place } from '../../src/engine/place.ts';
import { pong } from '../agents/mcp-answer.ts';
import { agentPrograms } from '../world/agents-folder.ts';
import type { Event } from '../world/event-stream.ts';
import { followEvents } from '../world/follow-events.ts';
import {
  canIsolate,
  commandOf,
  createLiveReplica,
  type LiveReplica,
  processesOf,
  processesOfChat,
  scriptOf,
} from '../world/live.ts';
import { type AgentWorld, guidance, liveAgents, startAgentWorld } from '../world/live-agents.ts';
import { until } from '../world/world.ts';
import type { Findings } from './search-sandbox.ts';

const PIXEL =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
type Sent = { messageId: string; chatId: string };
const completed = { state: 'completed', error: null };
/** Agents work beside each other; the tests of one share a replica. */
const inTurn = { concurrent: false, timeout: 180_000 };
const immediate = { 'x-service-api-version': '2026-05-17' };

describe.skipIf(!canIsolate)('agents in real sandboxes', () => {
  let here: AgentWorld;
  beforeAll(async () => {
    for (const { agent } of liveAgents) agentPrograms(agent);
    here = await startAgentWorld();
  }, 60_000);
  afterAll(() => here?.close(), 60_000);

  describe.concurrent.each(liveAgents)('$agent', (agent) => {
    let replica: LiveReplica;
    /** The first message, to which the offline model answers. */
    let first: Sent;
    let events: Event[];
    const apiKey = `key-of-${agent.agent}-${randomUUID()}`;

    beforeAll(async () => {
      const body = {
        environment_id: here.environmentId,
        coding_agent: agent.agent,
        message: scriptOf([{ shell: 'echo changed >> README.md' }, { text: 'The file is changed.' }]),
      };
      replica = await createLiveReplica(here, body, immediate);
      const { id: replicaId } = replica;
      const isLast = ({ event }: Event) => event === 'chat.turn.completed';
      events = await followEvents(here.org, { replicaId, isLast, hangUpAfter: 5 });
      const accepted = events.find(({ event }) => event === 'chat.turn.accepted')?.data.payload;
      first = { messageId: accepted.messageId, chatId: accepted.chatId };
      await here.setCredential(agent, apiKey);
    }, 180_000);

    const at = (path: string) => `/v1/replica/${replica.id}${path}`;
    const lastAsked = () => JSON.stringify(here.lastAsked(agent).body);

    it('changes a file at the first message, and diff, history and stream show it', inTurn, async () => {
      expect(replica.status).toBe('preparing');
      const read = await here.org.call('GET', at('?include=environment,diffs'));
      expect(read.body.replica.repository_statuses[0].git_diff.full_diff).toContain('+changed');
      expect(read.body.replica.environment.coding_agents[agent.agent].available).toBe(true);

      const history = await here.org.call('GET', at(`/history?chat_id=${first.chatId}&limit=500`));
      const types = history.body.events.map(({ type }: { type: string }) => type);
      expect(types).toEqual(expect.arrayContaining([...agent.history]));
      const entries = await replica.entriesOf(first.messageId);
      expect(entries.filter(agent.isSaidByUser)).toMatchObject([
        { payload: { message_id: first.messageId } },
      ]);

      expect(events.map(({ id }) => Number(id))).toEqual(events.map((_, index) => index + 1));
      const deltas = events.filter(({ event }) => event === 'chat.turn.delta');
      expect(deltas[0]?.data.payload.event).toEqual({
        type: 'notice',
        text: expect.stringMatching(/^OFFLINE MODEL/),
      });
      const pieces = deltas.map(({ data }) => data.payload.event);
      expect(pieces).toContainEqual(expect.objectContaining({ type: 'tool' }));
      const live = pieces.findIndex(({ type, text }) => type === 'text' && text === 'The file is changed.');
      const whole = pieces.findIndex(({ payload }) =>
        JSON.stringify(payload)?.includes('The file is changed.'),
      );
      expect(live).toBeGreaterThan(0);
      expect(whole).toBeGreaterThan(live);
    });

    it('remembers, and has what the environment gives; the key is added outside', inTurn, async () => {
      await say('Remember the badger.');
      const steps = [
        { shell: 'echo "$GREETING" > ~/greeting; cat ~/greeting' },
        agent.use({ server: 'words', tool: 'ping', args: {} }),
        agent.use({ server: 'replica-workspace', tool: 'register_preview', args: { port: 4321 } }),
        { text: 'ok' },
      ];
      const image = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: PIXEL } };
      const { messageId } = await replica.send(steps, { images: [image] });
      expect(await replica.outcomeOf(messageId)).toMatchObject(completed);
      const asked = lastAsked();
      const seen = [
        'Remember the badger.',
        guidance.ofEnvironment,
        guidance.ofRepository,
        guidance.skill,
        guidance.variable,
        pong('words'),
        PIXEL,
      ];
      expect(seen.filter((text) => !asked.includes(text))).toEqual([]);
      const { body } = await here.org.call('GET', `/v1/workspaces/${replica.id}/previews`);
      expect(body.previews).toMatchObject([{ port: 4321 }]);
      const requests = here.model.requests().filter(agent.isAsked);
      expect(new Set(requests.map(agent.keyOf))).toEqual(new Set([apiKey]));
    });

    it('writes nothing in plan mode', inTurn, async () => {
      const steps = [{ shell: 'echo x > planned.txt' }, { text: 'I would do it so.' }];
      const { messageId } = await replica.send(steps, { plan_mode: true });
      await replica.outcomeOf(messageId);
      const seen = await replica.send([{ shell: 'ls planned.txt 2>&1 | tr a-z A-Z' }, { text: 'ok' }]);
      await replica.outcomeOf(seen.messageId);
      expect(JSON.stringify(await replica.entriesOf(seen.messageId))).toContain('NO SUCH FILE');
    });

    it('is interrupted in the middle of a tool, and leaves no process of that turn', inTurn, async () => {
      const before = running('', await say('Here I am.'));
      const sent = await replica.send([{ shell: 'setsid sleep 1001 & sleep 1002' }, { text: 'never' }]);
      await untilRunning('sleep 1002', sent);
      const answer = await here.org.call('POST', at(`/chats/${sent.chatId}/interrupt`));
      expect(answer.body).toMatchObject({ interrupted: true });
      expect(await replica.outcomeOf(sent.messageId)).toMatchObject({ state: 'interrupted' });
      expect(running('', sent).filter((pid) => !before.includes(pid))).toEqual([]);
    });

    it('never has the key of the organization, nor have the log and the database', inTurn, async () => {
      await say('The key was used.');
      const backwards = [...apiKey].reverse().join('');
      const shell = `mkdir -p ~/.replica/canvas && ${place.node} ~/live/search-sandbox.ts ${backwards} ~/.replica/canvas/findings.json`;
      const { messageId } = await replica.send([{ shell }, { text: 'searched' }]);
      expect(await replica.outcomeOf(messageId)).toMatchObject(completed);
      const item = await here.org.call('GET', at('/canvas/findings.json'));
      const findings: Findings = JSON.parse(Buffer.from(item.body.base64, 'base64').toString());
      expect(findings.secret).toEqual([]);
      expect(findings.own).toContainEqual(expect.stringMatching(/^environ of /));
      if (findings.memories > 0) expect(findings.own).toContainEqual(expect.stringMatching(/^memory of /));
      expect(here.log()).not.toContain(apiKey);
      expect(await tablesWith(here.world.pool, apiKey)).toEqual([]);
      expect(await tablesWith(here.world.pool, messageId)).toContain('message');
    });

    it('goes on after kills, sleep and wake, remembers all, and ends with its chat', inTurn, async () => {
      await say('Remember the marmot.');
      const lost = await replica.send([{ shell: 'sleep 1003' }, { text: 'never' }]);
      await untilRunning('sleep 1003', lost);
      kill(running(place.agents, lost));
      await expectFailedOnce(lost, 'agent_died');
      await until(() => running('sleep 1003', lost).length === 0);

      const cut = await replica.send([{ text: 'Remember the beaver.', shell: 'sleep 1004' }]);
      await untilRunning('sleep 1004', cut);
      expect(lastAsked()).toContain('Remember the marmot.');
      const pids = processesOf(await sandboxId());
      kill(pids.filter((pid) => commandOf(pid).includes(place.engineBundle)));
      await expectFailedOnce(cut, 'stopped');
      await replica.reach('active');

      await here.org.call('POST', `/v1/workspaces/${replica.id}/sleep`);
      await replica.reach('sleeping');
      const last = await replica.send([{ shell: 'sleep 1005' }]);
      await untilRunning('sleep 1005', last);
      const asked = lastAsked();
      for (const said of ['Remember the marmot.', 'Remember the beaver.']) expect(asked).toContain(said);
      expect((await here.org.call('DELETE', at(`/chats/${last.chatId}`))).body).toEqual({ success: true });
      expect(await replica.outcomeOf(last.messageId)).toMatchObject({ state: 'interrupted' });
      expect(running('sleep 1005', last)).toEqual([]);
    });

    const sandboxId = async () => (await replica.rowOf()).sandbox_id ?? '';

    /** The processes of a chat's agent and of what it has started, as far as they run a command. */
    function running(command: string, { chatId }: Sent): number[] {
      return processesOfChat(chatId).filter((pid) => commandOf(pid).includes(command));
    }

    async function untilRunning(command: string, sent: Sent): Promise<void> {
      await until(() => running(command, sent).length > 0, { timeoutMs: 120_000 });
    }

    /** Lets the model say something, which is then a part of the conversation. */
    async function say(text: string): Promise<Sent> {
      const sent = await replica.send([{ text }]);
      expect(await replica.outcomeOf(sent.messageId)).toMatchObject(completed);
      return sent;
    }

    async function expectFailedOnce({ messageId }: Sent, failure: string): Promise<void> {
      expect(await replica.outcomeOf(messageId)).toMatchObject({ state: 'failed', failure });
      const errors = await here.world.db
        .selectFrom('replica_event')
        .select('payload')
        .where('replica_id', '=', replica.id)
        .where('type', '=', 'error')
        .execute();
      const own = errors.filter(({ payload }) => JSON.stringify(payload).includes(messageId));
      expect(own).toMatchObject([{ payload: { message: expect.stringMatching(/^[A-Z].*\.$/s) } }]);
    }
  });

  it('work beside each other in a replica, which is deleted after the last turn of the last queue', async () => {
    const [one, other] = ['claude', 'codex'] as const;
    const meet = (mine: string, theirs: string) =>
      `touch ~/${mine}; until [ -e ~/${theirs} ]; do sleep 0.05; done`;
    const body = {
      environment_id: here.environmentId,
      coding_agent: one,
      lifecycle_policy: 'delete_when_done',
      message: scriptOf([{ shell: meet(one, other) }, { text: 'met' }]),
    };
    const replica = await createLiveReplica(here, body, immediate);
    const steps = [{ shell: meet(other, one) }, { text: 'met' }];
    const met = await replica.send(steps, { coding_agent: other });
    const later = [
      await replica.send([{ text: 'the last of one' }], { coding_agent: one }),
      await replica.send([{ shell: 'sleep 0.5' }, { text: 'the last' }], { chat_id: met.chatId }),
    ];
    for (const { messageId } of [met, ...later])
      expect(await replica.outcomeOf(messageId)).toMatchObject(completed);
    await replica.reach('deleted');
    const states = await here.world.db
      .selectFrom('message')
      .select('state')
      .where('replica_id', '=', replica.id)
      .execute();
    expect(states.map(({ state }) => state)).toEqual(Array(4).fill('completed'));
  });
});

/** The tables of which a row has the text in it, in whatever column. */
async function tablesWith(pool: Pool, text: string): Promise<string[]> {
  const listed = await pool.query<{ name: string }>(
    "select table_name as name from information_schema.tables where table_schema = 'public' and table_type = 'BASE TABLE'",
  );
  const found: string[] = [];
  for (const { name } of listed.rows) {
    const query = `select 1 from "${name}" as line where line::text like '%' || $1 || '%' limit 1`;
    if ((await pool.query(query, [text])).rows.length > 0) found.push(name);
  }
  return found;
}

function kill(pids: readonly number[]): void {
  for (const pid of pids) {
    try {
      process.kill(pid, 'SIGKILL');
    } catch {
      // It has ended with another.
    }
  }
}
