import type { SlashCommand } from '../../protocol.ts';
import { AgentFailure, ConversationLost, type JsonObject, type SessionSpec } from '../agent.ts';
import { objectAt, objectsAt, textAt } from '../json-fields.ts';
import type { CodexRpc } from './codex-rpc.ts';

/** A conversation as codex has it. */
export type CodexThread = {
  id: string;
  /** The file in which codex keeps it. */
  file: string;
  /** The model that is used when nobody says. */
  usualModel: string;
  /** The skills that can be asked for by name. */
  commands: SlashCommand[];
};

/** Begins a conversation, or goes on with one. That is not held up by what is only good to know. */
export async function openCodexThread(
  rpc: CodexRpc,
  { resume, folder, systemPrompt }: Pick<SessionSpec, 'resume' | 'folder' | 'systemPrompt'>,
  servers: Record<string, JsonObject>,
): Promise<CodexThread> {
  await rpc.ask('initialize', {
    clientInfo: { name: 'replica', title: 'Replica', version: '1' },
    capabilities: { experimentalApi: true, requestAttestation: false },
  });
  rpc.tell('initialized');
  const settings = { cwd: folder, developerInstructions: systemPrompt, config: { mcp_servers: servers } };
  const opened = resume === null ? await begin(rpc, settings) : await goOn(rpc, resume, settings);
  const thread = objectAt(opened, 'thread');
  // A conversation that goes on has the model of its last message, which may have been chosen for that one only.
  const usualModel = resume === null ? '' : await askUsualModel(rpc, folder).catch(() => '');
  return {
    id: textAt(thread, 'id'),
    file: textAt(thread, 'path'),
    usualModel: usualModel || textAt(opened, 'model'),
    commands: await listCommands(rpc, folder).catch(() => []),
  };
}

/** The history is wanted in the form that was usual before codex could read it in pages. */
function begin(rpc: CodexRpc, settings: JsonObject): Promise<JsonObject> {
  return rpc.ask('thread/start', { ...settings, historyMode: 'legacy' });
}

async function goOn(rpc: CodexRpc, threadId: string, settings: JsonObject): Promise<JsonObject> {
  try {
    // Codex would at once pursue a goal that is left over from a turn that has been broken off.
    await rpc.ask('thread/goal/clear', { threadId });
    return await rpc.ask('thread/resume', { ...settings, threadId, excludeTurns: true });
  } catch (error) {
    const isLost = error instanceof AgentFailure && unknownThread.test(error.message);
    throw isLost ? new ConversationLost('codex has no such conversation', { cause: error }) : error;
  }
}

const unknownThread = /no rollout found|invalid (session|thread) id|thread not found/i;

async function askUsualModel(rpc: CodexRpc, folder: string): Promise<string> {
  const { config } = await rpc.ask('config/read', { cwd: folder, includeLayers: false });
  const models = objectsAt(await rpc.ask('model/list', {}), 'data');
  const usual = models.find(({ isDefault }) => isDefault === true) ?? {};
  return textAt(objectAt({ config }, 'config'), 'model') || textAt(usual, 'model');
}

async function listCommands(rpc: CodexRpc, folder: string): Promise<SlashCommand[]> {
  const found = objectsAt(await rpc.ask('skills/list', { cwds: [folder] }), 'data');
  return found
    .flatMap((entry) => objectsAt(entry, 'skills'))
    .filter((skill) => skill.enabled === true && /^[A-Za-z0-9][\w:.-]{0,198}$/.test(textAt(skill, 'name')))
    .map((skill) => ({
      command: textAt(skill, 'name'),
      description: textAt(skill, 'description').slice(0, 2_000),
      argumentHint: null,
    }));
}
