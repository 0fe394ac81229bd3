import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { until } from '../world/world.ts';
import { answerOf, type StagedSandbox } from './engine-stage.ts';
import { kinds, type McpStage, startMcpStage, TOKEN } from './mcp-stage.ts';

let stage: McpStage;
let sandbox: StagedSandbox;
beforeAll(async () => {
  stage = await startMcpStage();
  sandbox = await stage.workspace([
    await stage.connect({ host: 'github.test.example', token: TOKEN, name: 'github' }),
  ]);
});
beforeEach(() => {
  stage.api.calls.length = 0;
  stage.api.pulls.length = 0;
  stage.api.branches.add('work');
});
afterAll(() => stage?.close());

const post = (body: string | Buffer, headers: Record<string, string> = {}, by = sandbox) =>
  by.call({
    method: 'POST',
    path: `/mcp/${randomUUID()}`,
    body,
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      ...headers,
    },
  });
const listing = { jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} };
const open = (by = sandbox) => stage.use(by, 'open_pull_request', { title: 'Frogs' });

describe('the MCP server of a workspace refuses', () => {
  test('whoever has no secret of a sandbox', async () => {
    const { status } = await post(JSON.stringify(listing), { authorization: 'Bearer nonsense' });
    expect(status).toBe(401);
  });

  test('a sandbox that is of no replica', async () => {
    const warm = await stage.sandbox();
    await stage.world.db
      .updateTable('sandbox')
      .set({ replica_id: null })
      .where('id', '=', warm.sandboxId)
      .execute();
    expect((await post(JSON.stringify(listing), {}, warm)).status).toBe(404);
  });

  test.each([
    ['GET', `/mcp/${randomUUID()}`, 405],
    ['DELETE', `/mcp/${randomUUID()}`, 405],
    ['POST', '/mcp/', 404],
    ['POST', '/mcp', 404],
    ['POST', '/mcp/no-chat', 404],
    ['POST', '/mcpx', 404],
  ])('%s %s with %i', async (method, path, status) => {
    expect((await sandbox.call({ method, path })).status).toBe(status);
  });

  test.each([
    ['what is no JSON', '{', 400],
    ['what is nested without end', `${'['.repeat(1_000)}${']'.repeat(1_000)}`, 400],
    ['several messages in one', JSON.stringify([listing, listing]), 400],
    ['no message at all', '{}', 400],
    ['a body that is too large', JSON.stringify({ ...listing, pad: 'x'.repeat(300_000) }), 413],
  ])('%s', async (_what, body, status) => {
    expect((await post(body)).status).toBe(status);
  });

  test('a body that says itself that it is too large, before it comes', async () => {
    const outgoing = sandbox.begin({
      method: 'POST',
      path: `/mcp/${randomUUID()}`,
      headers: { 'content-length': '1000000000' },
    });
    expect((await answerOf(outgoing)).status).toBe(413);
    outgoing.destroy();
  });

  test('a tool that there is not, and input that a tool does not take, with a sentence', async () => {
    expect(await stage.use(sandbox, 'constructor')).toEqual({
      isError: true,
      text: 'There is no tool constructor.',
    });
    for (const args of [{}, { title: 7 }, { title: '' }, { title: 'x', branch: 'y'.repeat(251) }]) {
      const { isError, text } = await stage.use(sandbox, 'open_pull_request', args);
      expect([isError, text]).toEqual([true, expect.stringMatching(/→ at (title|branch)/)]);
    }
    expect(stage.api.calls).toEqual([]);
  });

  test('more at once than a person would do', async () => {
    const held: (() => void)[] = [];
    for (let n = 0; n < 8; n += 1)
      stage.api.answerNext((response) => void held.push(() => response.destroy()));
    const running = Array.from({ length: 8 }, () => open());
    await until(() => held.length === 8);
    expect(await open()).toMatchObject({
      isError: true,
      text: expect.stringContaining('too many tools at once'),
    });
    for (const release of held) release();
    for (const answer of await Promise.all(running))
      expect(answer).toEqual({ isError: true, text: 'The git host cannot be reached.' });
    expect(await open()).toMatchObject({ isError: false });
  });
});

describe('a git host that does not help is told of in a sentence', () => {
  test('when nobody has said what it is', async () => {
    const id = await stage.connect({ host: 'git.unknown.example', token: TOKEN, name: 'unknown' });
    expect(await open(await stage.workspace([id]))).toEqual({
      isError: true,
      text: 'It is not known where the API of git.unknown.example is; an admin says so with PUT /v1/organization/git-hosts/{host}.',
    });
  });

  test('when the repository has no token', async () => {
    await stage.org.call('PUT', '/v1/organization/git-hosts/open.test.example', {
      kind: 'github',
      api_url: stage.api.githubUrl,
    });
    const id = await stage.connect({ host: 'open.test.example', token: null, name: 'open' });
    expect(await open(await stage.workspace([id]))).toEqual({
      isError: true,
      text: 'The repository has no credential, and pull requests need one; an admin sets it on the repository.',
    });
  });

  test.each(kinds)('when %s refuses the token', async (kind) => {
    await stage.org.call('PUT', `/v1/organization/git-hosts/${kind}.other.example`, {
      kind,
      api_url: kind === 'github' ? stage.api.githubUrl : stage.api.gitlabUrl,
    });
    const id = await stage.connect({
      host: `${kind}.other.example`,
      token: 'expired-token',
      name: `other-${kind}`,
    });
    const { isError, text } = await open(await stage.workspace([id]));
    expect([isError, text]).toEqual([true, expect.stringContaining('refused the token')]);
    expect(text).not.toContain('expired-token');
  });

  test.each(kinds)('when the branch was never pushed to %s', async (kind) => {
    stage.api.branches.delete('work');
    const id = await stage.connect({
      host: `${kind}.test.example:444`,
      token: TOKEN,
      name: `branch-${kind}`,
    });
    await stage.org.call('PUT', `/v1/organization/git-hosts/${kind}.test.example:444`, {
      kind,
      api_url: kind === 'github' ? stage.api.githubUrl : stage.api.gitlabUrl,
    });
    const { isError, text } = await open(await stage.workspace([id]));
    const sentence =
      kind === 'github' ? /push the branch first.*head is not a branch/ : /answered 400.*does not exist/;
    expect([isError, text]).toEqual([true, expect.stringMatching(sentence)]);
  });

  test('when the branch is the one to merge into', async () => {
    expect(await stage.use(sandbox, 'open_pull_request', { title: 'Frogs', branch: 'main' })).toMatchObject({
      isError: true,
      text: expect.stringContaining('from one branch to another'),
    });
    expect(stage.api.calls).toEqual([]);
  });

  const secretive = { message: `No ${TOKEN} here`, errors: [`Bearer ${TOKEN}`] };
  test.each([
    ['repeats the token', { status: 500, body: secretive }, /answered 500\. It says: No here/],
    ['repeats it in a refusal', { status: 403, body: secretive }, /refused the token/],
    [
      'is asked too often',
      { status: 429, body: { message: 'Slow down' } },
      /answered 429\. It says: Slow down\./,
    ],
    ['was moved', { status: 301, body: { message: 'Moved Permanently' } }, /moved or renamed/],
    ['answers something else', { status: 201, body: { number: 1 } }, /something unknown/],
    [
      'names no web page',
      { status: 201, body: { number: 1, html_url: 'javascript:alert(1)' } },
      /something unknown/,
    ],
    [
      'counts beyond all bounds',
      { status: 201, body: { number: 2 ** 40, html_url: 'https://a.example' } },
      /unknown/,
    ],
  ])('when it %s', async (_what, answer, sentence) => {
    stage.api.answerNext(answer);
    const { isError, text } = await open();
    expect([isError, text]).toEqual([true, expect.stringMatching(sentence)]);
  });

  test('when it says more than anybody reads', async () => {
    stage.api.answerNext((response) => void response.writeHead(201).end('x'.repeat(3_000_000)));
    expect(await open()).toEqual({ isError: true, text: 'The git host cannot be reached.' });
  });
});
