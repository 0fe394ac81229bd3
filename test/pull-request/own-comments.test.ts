import { afterAll, beforeAll, expect, test } from 'vitest';
import { openPullRequestStage, type PullRequestStage, type Workspace } from './stage.ts';

let stage: PullRequestStage;
beforeAll(async () => {
  stage = await openPullRequestStage();
});
afterAll(() => stage?.close());

const ELSEWHERE = 'https://github.example/team/app/pull/1#issuecomment-7000';

function isOwn(replica: Workspace, comment: { text: string; url: string }, of = replica): Promise<boolean> {
  const { repositoryId } = replica;
  const { organizationId } = of.caller;
  return stage.pullRequests.isOwnComment(stage.db, { organizationId, repositoryId, comment });
}

function write(replica: Workspace, body: string): Promise<{ url: string }> {
  const workspace = { organizationId: replica.caller.organizationId, replicaId: replica.id };
  const comment = { repository: null, number: 1, body };
  return stage.pullRequests.comment(workspace, comment, AbortSignal.timeout(9_000));
}

test('a comment of a replica is its own while it is made and after that, in its organization', async () => {
  const replica = await stage.workspace();
  const other = await stage.workspace();
  const body = '/replica  once\r\nmore ';
  const told = { text: '/replica  once\nmore', url: ELSEWHERE };
  expect(await isOwn(replica, told)).toBe(false);
  const early: boolean[] = [];
  stage.api.answerNext((response) => {
    Promise.all([isOwn(replica, told), isOwn(replica, told, other), isOwn(other, told)]).then((seen) => {
      early.push(...seen);
      response.writeHead(201, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ html_url: ELSEWHERE }));
    });
  });
  expect((await write(replica, body)).url).toBe(ELSEWHERE);
  expect(early).toEqual([true, false, false]);
  expect(await isOwn(replica, { text: 'what the host has made of it', url: ELSEWHERE })).toBe(true);
  expect(await isOwn(replica, { text: 'x', url: ELSEWHERE }, other)).toBe(false);
  // Somebody else says the same.
  expect(await isOwn(replica, { ...told, url: `${ELSEWHERE}1` })).toBe(false);
});

test('a comment of which it is not known whether it was made counts for ten minutes', async () => {
  const replica = await stage.workspace();
  stage.api.answerNext((response) => void response.destroy());
  await expect(write(replica, 'Done.')).rejects.toThrow();
  const told = { text: 'Done.', url: ELSEWHERE };
  expect(await isOwn(replica, told)).toBe(true);
  stage.moveClock(11 * 60_000);
  expect(await isOwn(replica, told)).toBe(false);
});
