import { z } from 'zod';
import type { CanvasService } from '../canvas/service.ts';
import { AppError } from '../contract/error.ts';
import type { Db } from '../db/database.ts';
import { transact } from '../db/transact.ts';
import { GitHostError } from '../git-host/host.ts';
import type { PreviewService } from '../preview/service.ts';
import { PullRequestError, type PullRequestService } from '../pull-request/service.ts';
import type { SandboxIdentity } from '../sandbox/service.ts';

/** Who calls a tool: the agent of a chat in the sandbox of a replica. The chat is what it says, and may be no chat at all. */
export type ToolCaller = SandboxIdentity & { replicaId: string; chatId: string };

/** Something that agents can ask of the service. What it throws of the kinds below is a sentence for the agent. */
export type WorkspaceTool = {
  description: string;
  input: z.ZodObject;
  run(caller: ToolCaller, input: unknown, signal: AbortSignal): Promise<unknown>;
};

type Parts = {
  db: Db;
  pullRequests: PullRequestService;
  previews: Pick<PreviewService, 'registerFromInside'>;
  canvas: Pick<CanvasService, 'list'>;
};

const repository = z
  .string()
  .max(200)
  .optional()
  .describe('Name of the repository; may be left out when there is only one.');
const branch = z.string().min(1).max(250);
const text = z.string().max(60_000);

/** The tools of the service's own MCP server, by name. Secrets that they need stay on this side. */
export function workspaceTools({ db, pullRequests, previews, canvas }: Parts): Record<string, WorkspaceTool> {
  return {
    open_pull_request: tool({
      description:
        'Open a pull request (merge request) for a branch that you have pushed, or find the open one of that branch. No token is needed.',
      input: z.object({
        repository,
        title: z.string().min(1).max(250),
        body: text.default(''),
        branch: branch.optional().describe('The pushed branch; default: the one that is checked out.'),
        base: branch.optional().describe('The branch to merge into; default: the default branch.'),
        draft: z.boolean().default(false),
      }),
      run: (
        caller,
        { repository: name = null, title, body, branch: head = null, base = null, draft },
        signal,
      ) =>
        pullRequests.open(
          caller,
          { repository: name, title, body, branch: head, base, isDraft: draft },
          signal,
        ),
    }),
    comment_on_pull_request: tool({
      description: 'Write a comment on a pull request (merge request) of a repository of this workspace.',
      input: z.object({ repository, number: z.int().min(1), body: text.min(1) }),
      run: (caller, { repository: name = null, number, body }, signal) =>
        pullRequests.comment(caller, { repository: name, number, body }, signal),
    }),
    register_preview: tool({
      description:
        'Make a port that a server of yours listens on in this workspace reachable for the user; gives the address to tell.',
      input: z.object({ port: z.int().min(1).max(65_535) }),
      async run(identity, { port }) {
        const inside = { port, identity, replicaId: null };
        const { preview } = await transact(db, (tx) => previews.registerFromInside(tx, inside));
        return preview;
      },
    }),
    list_canvas: tool({
      description: 'List the files in ~/.replica/canvas as the user sees them.',
      input: z.object({}),
      async run({ replicaId }) {
        const items = await canvas.list(db, replicaId);
        return {
          items: items.map(({ filename, size_bytes }) => ({ filename, sizeBytes: Number(size_bytes) })),
        };
      },
    }),
  };
}

/** What a tool may say of a failure to the agent; null for what is nobody's business outside of the log. */
export function toolSentence(error: unknown): string | null {
  const isSpoken =
    error instanceof GitHostError || error instanceof PullRequestError || error instanceof AppError;
  return isSpoken ? error.message : null;
}

function tool<S extends z.ZodObject>(definition: {
  description: string;
  input: S;
  run(caller: ToolCaller, input: z.output<S>, signal: AbortSignal): Promise<unknown>;
}): WorkspaceTool {
  const { description, input, run } = definition;
  return { description, input, run: (caller, given, signal) => run(caller, input.parse(given), signal) };
}
