import { readLines } from './lines.ts';

export type ToolCall = { id: string; name: string; args: Record<string, unknown> };

/** The model did not answer, with this status. */
export class ModelError extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

/** Asks the scripted model, and passes on what it says piece by piece; resolves with the tools that it calls. */
export async function askModel(
  body: object,
  { heard, signal }: { heard(piece: { text?: string; thought?: string }): void; signal: AbortSignal },
): Promise<ToolCall[]> {
  const answer = await fetch(`${process.env.STAND_IN_MODEL_URL}/v1/chat/completions`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${process.env.STAND_IN_MODEL_KEY}`,
      'content-type': 'application/json',
    },
    body: JSON.stringify({ stream: true, ...body }),
    signal,
  });
  if (!answer.ok) {
    const { error } = (await answer.json()) as { error?: { message?: string } };
    throw new ModelError(answer.status, error?.message ?? '');
  }
  const calls: ToolCall[] = [];
  for await (const line of readLines(answer.body)) {
    if (!line.startsWith('data: {')) continue;
    const { choices } = JSON.parse(line.slice('data: '.length)) as { choices: Choice[] };
    const { content, reasoning, tool_calls = [] } = choices[0]?.delta ?? {};
    if (reasoning) heard({ thought: reasoning });
    if (content) heard({ text: content });
    for (const { id, function: called } of tool_calls)
      calls.push({ id, name: called.name, args: JSON.parse(called.arguments) });
  }
  signal.throwIfAborted();
  return calls;
}

type Choice = {
  delta: {
    content?: string;
    reasoning?: string;
    tool_calls?: { id: string; function: { name: string; arguments: string } }[];
  };
};
