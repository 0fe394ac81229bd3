import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { GATEWAY_PORT } from '../../src/engine/place.ts';
import type { StagedSandbox } from './engine-stage.ts';
import { kinds, type McpStage, startMcpStage, TOKEN } from './mcp-stage.ts';

let stage: McpStage;
let repositories: Record<(typeof kinds)[number], string>;
beforeAll(async () => {
  stage = await startMcpStage();
  repositories = {
    github: await stage.connect({ host: 'github.test.example', token: TOKEN, name: 'github' }),
    gitlab: await stage.connect({ host: 'gitlab.test.example', token: TOKEN, name: 'gitlab' }),
  };
});
beforeEach(() => {
  for (const list of [stage.api.pulls, stage.api.calls, stage.api.comments]) list.length = 0;
  stage.api.branches.clear();
  stage.api.branches.add('work');
});
afterAll(() => stage?.close());

const done = async (answer: Promise<{ isError: boolean; text: string }>) => {
  const { isError, text } = await answer;
  expect({ isError, text }).toMatchObject({ isError: false });
  return JSON.parse(text);
};
const replica = async ({ replicaId }: StagedSandbox) =>
  (await stage.org.call('GET', `/v1/replica/${replicaId}`)).body.replica;

describe('the MCP server of a workspace', () => {
  test('tells what it can do', async () => {
    const agent = await stage.client(await stage.sandbox());
    const { tools } = await agent.listTools();
    await agent.close();
    expect(agent.getServerVersion()?.name).toBe('replica-workspace');
    expect(tools.map(({ name }) => name).toSorted()).toEqual([
      'comment_on_pull_request',
      'list_canvas',
      'open_pull_request',
      'register_preview',
    ]);
    const opening = tools.find(({ name }) => name === 'open_pull_request');
    expect(opening?.inputSchema).toMatchObject({ type: 'object', required: ['title'] });
  });

  test('registers a port for the user', async () => {
    const sandbox = await stage.sandbox();
    const preview = await done(stage.use(sandbox, 'register_preview', { port: 3_000 }));
    expect(preview).toMatchObject({ port: 3_000, publicUrl: expect.stringContaining('3000') });
    const { body } = await stage.org.call('GET', `/v1/workspaces/${sandbox.replicaId}/previews`);
    expect(body.previews).toMatchObject([{ port: 3_000, publicUrl: preview.publicUrl }]);
    expect(await stage.use(sandbox, 'register_preview', { port: GATEWAY_PORT })).toMatchObject({
      isError: true,
      text: expect.stringContaining('use another one'),
    });
  });

  test('lists the canvas as the user sees it', async () => {
    const sandbox = await stage.sandbox();
    expect(await done(stage.use(sandbox, 'list_canvas'))).toEqual({ items: [] });
    await sandbox.call({ method: 'PUT', path: '/engine/canvas/plan.md', body: '# Plan' });
    expect(await done(stage.use(sandbox, 'list_canvas'))).toEqual({
      items: [{ filename: 'plan.md', sizeBytes: 6 }],
    });
  });
});

describe.each(kinds)('a pull request on %s', (kind) => {
  const url = (number: number) =>
    kind === 'github'
      ? `https://github.example/team/app/pull/${number}`
      : `https://gitlab.example/team/app/-/merge_requests/${number}`;
  const workspace = () => stage.workspace([repositories[kind]]);

  test('is opened with the token that the sandbox does not have', async () => {
    const sandbox = await workspace();
    const opened = await done(stage.use(sandbox, 'open_pull_request', { title: 'Frogs', body: 'Green.' }));
    expect(opened).toEqual({ number: 1, url: url(1) });
    expect(stage.api.pulls).toEqual([
      { number: 1, head: 'work', base: 'main', title: 'Frogs', body: 'Green.', isDraft: false },
    ]);
    expect(stage.api.calls.map(({ authorization }) => authorization)).toEqual([`Bearer ${TOKEN}`]);
  });

  test('is seen in the replica, and told once however often it is opened', async () => {
    const sandbox = await workspace();
    const { body: sent } = await stage.org.call('POST', `/v1/replica/${sandbox.replicaId}/messages`, {
      message: 'open one',
    });
    const before = (await sandbox.events()).length;
    for (const title of ['Frogs', 'Frogs', 'Toads'])
      expect(await done(stage.use(sandbox, 'open_pull_request', { title }, sent.chat_id))).toEqual({
        number: 1,
        url: url(1),
      });
    expect(stage.api.pulls).toHaveLength(1);
    const { pull_requests, repository_statuses } = await replica(sandbox);
    expect(pull_requests).toEqual([{ repository: 'repository-0', number: 1, url: url(1) }]);
    expect(repository_statuses).toMatchObject([{ repository: 'repository-0', pr_urls: [url(1)] }]);
    expect((await sandbox.events()).slice(before)).toMatchObject([
      {
        type: 'repo.status.changed',
        payload: { repos: [{ repository: 'repository-0', pr_urls: [url(1)] }] },
      },
    ]);
    const ending = { chatId: sent.chat_id, outcome: 'completed', error: null };
    await sandbox.report({ type: 'turn.finished', payload: { ...ending, turnId: sent.message_id } });
    const { body: more } = await stage.org.call('POST', `/v1/replica/${sandbox.replicaId}/messages`, {
      message: 'and rest',
    });
    await sandbox.report({ type: 'turn.finished', payload: { ...ending, turnId: more.message_id } });
    const ends = (await sandbox.events()).filter(({ type }) => type === 'chat.turn.completed');
    expect(ends).toMatchObject([
      { payload: { messageId: sent.message_id, pr_urls: [url(1)] } },
      { payload: { messageId: more.message_id, pr_urls: [] } },
    ]);
  });

  test('may be a draft, of another branch, into another one', async () => {
    stage.api.branches.add('feature/ä b');
    const asked = { title: 'WIP', branch: 'feature/ä b', base: 'next', draft: true };
    await done(stage.use(await workspace(), 'open_pull_request', asked));
    const title = kind === 'gitlab' ? 'Draft: WIP' : 'WIP';
    expect(stage.api.pulls).toMatchObject([{ head: 'feature/ä b', base: 'next', title, isDraft: true }]);
    expect(await done(stage.use(await workspace(), 'open_pull_request', asked))).toMatchObject({ number: 1 });
  });

  test('that somebody else has opened is found, and is then one of the replica', async () => {
    const theirs = { head: 'work', base: 'main', title: 'Theirs', body: '', isDraft: false };
    stage.api.pulls.push({ ...theirs, number: 41 });
    const sandbox = await workspace();
    expect(await done(stage.use(sandbox, 'open_pull_request', { title: 'Mine' }))).toEqual({
      number: 41,
      url: url(41),
    });
    expect((await replica(sandbox)).pull_requests).toMatchObject([{ number: 41, url: url(41) }]);
  });

  test('outlives the connection of its repository', async () => {
    const own = await stage.connect({
      host: `${kind}.test.example:8443`,
      token: TOKEN,
      name: `short-${kind}`,
    });
    await stage.org.call('PUT', `/v1/organization/git-hosts/${kind}.test.example:8443`, {
      kind,
      api_url: kind === 'github' ? stage.api.githubUrl : stage.api.gitlabUrl,
    });
    const sandbox = await stage.workspace([own]);
    await done(stage.use(sandbox, 'open_pull_request', { title: 'Frogs' }));
    expect((await stage.org.call('DELETE', `/v1/repositories/${own}`)).status).toBe(200);
    expect((await replica(sandbox)).pull_requests).toHaveLength(1);
    expect(await stage.use(sandbox, 'open_pull_request', { title: 'Again' })).toEqual({
      isError: true,
      text: 'The repository repository-0 is not connected any more.',
    });
  });

  test('is commented on', async () => {
    const sandbox = await workspace();
    await done(stage.use(sandbox, 'open_pull_request', { title: 'Frogs' }));
    const made = await done(stage.use(sandbox, 'comment_on_pull_request', { number: 1, body: 'Ribbit.' }));
    expect(made.url).toBe(
      `${url(1)}#${kind === 'github' ? 'issuecomment' : 'note'}${kind === 'github' ? '-' : '_'}101`,
    );
    expect(stage.api.comments).toEqual([{ number: 1, body: 'Ribbit.' }]);
    expect(await stage.use(sandbox, 'comment_on_pull_request', { number: 7, body: 'Where?' })).toMatchObject({
      isError: true,
      text: expect.stringContaining('does not know the repository or pull request'),
    });
    expect(stage.api.comments).toHaveLength(1);
  });
});

test('a workspace with several repositories says which one it means', async () => {
  const sandbox = await stage.workspace([repositories.github, repositories.gitlab]);
  const title = 'Frogs';
  await done(stage.use(sandbox, 'open_pull_request', { title, repository: 'repository-1' }));
  expect(stage.api.calls[0]?.line).toContain('/gitlab/');
  const sentence = 'Name one of the repositories of this workspace: repository-0, repository-1.';
  for (const asked of [{ title }, { title, repository: 'github' }, { title, repository: '../repository-0' }])
    expect(await stage.use(sandbox, 'open_pull_request', asked)).toEqual({ isError: true, text: sentence });
  // What others have is not there for this one, whatever it is called.
  const empty = await stage.sandbox();
  expect(await stage.use(empty, 'open_pull_request', { title, repository: 'repository-0' })).toEqual({
    isError: true,
    text: 'This workspace has no repository.',
  });
});
