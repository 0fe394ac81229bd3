import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Files } from '../world/git-host.ts';
import { type RegistryWorld, skillFile, startRegistryWorld } from '../world/skill-registry.ts';

let here: RegistryWorld;

beforeAll(async () => {
  here = await startRegistryWorld();
});
afterAll(() => here?.close());

describe('the skills of bound repositories', () => {
  const files: Files = {
    'SKILL.md': skillFile('whole', 'All of it.'),
    '.claude/skills/pdf/SKILL.md': skillFile('pdf', 'Reads PDFs.'),
    '.claude/agents/reviewer.md': skillFile('reviewer', 'Reviews.'),
    '.claude/commands/git/commit.md': 'Commit it.',
    '.codex/prompts/plan.md': 'Plan it.',
    '.cursor/rules/style.mdc': 'Be brief.',
    'src/main.ts': '',
  };
  const read = (id: string) => here.org.call('GET', `/v1/environments/${id}/repo-skills`);

  async function connect(url: string): Promise<string> {
    const answer = await here.org.call('POST', '/v1/repositories', { url });
    expect(answer.status).toBe(201);
    return answer.body.repository.id;
  }

  test('are none for an unbound environment', async () => {
    expect(await read(await here.makeEnvironment())).toMatchObject({
      status: 200,
      body: { repo_skills: [], error: null },
    });
    expect((await read('global')).body).toEqual({ repo_skills: [], error: null });
  });

  test('are skills, agents, commands, prompts and rules of the default branch', async () => {
    const { name, url } = await here.makeRepository(files, { branch: 'trunk' });
    await here.host.commit(name, { '.claude/agents/hidden.md': 'x' }, { branch: 'side' });
    const repositoryId = await connect(url);
    const id = await here.makeEnvironment(here.org, { repository_id: repositoryId });
    const { body } = await read(id);
    expect(body.error).toBeNull();
    const shown = body.repo_skills.map((skill: Record<string, unknown>) => [
      skill.path,
      skill.kind,
      skill.framework,
      skill.name,
    ]);
    expect(shown).toEqual([
      ['.claude/agents/reviewer.md', 'agent', 'claude', 'reviewer'],
      ['.claude/commands/git/commit.md', 'command', 'claude', 'git/commit'],
      ['.claude/skills/pdf/SKILL.md', 'skill', 'claude', 'pdf'],
      ['.codex/prompts/plan.md', 'prompt', 'codex', 'plan'],
      ['.cursor/rules/style.mdc', 'rule', 'cursor', 'style'],
      ['SKILL.md', 'skill', null, 'whole'],
    ]);
    expect(body.repo_skills[0]).toEqual({
      id: `${repositoryId}:.claude/agents/reviewer.md`,
      repository_id: repositoryId,
      repository_full_name: name,
      branch: 'trunk',
      path: '.claude/agents/reviewer.md',
      name: 'reviewer',
      description: 'Reviews.',
      html_url: url,
      framework: 'claude',
      kind: 'agent',
    });
  });

  test('are read anew when the last reading is old', async () => {
    const { name, url } = await here.makeRepository(files);
    const repositoryId = await connect(url);
    const id = await here.makeEnvironment(here.org, { repository_id: repositoryId });
    expect((await read(id)).body.repo_skills).toHaveLength(6);
    await here.host.commit(name, { '.claude/agents/second.md': 'Second.' });
    const longAgo = new Date(Date.now() - 60_000);
    await here.world.db
      .updateTable('repository')
      .set({ checked_at: longAgo })
      .where('id', '=', repositoryId)
      .execute();
    expect((await read(id)).body.repo_skills).toHaveLength(7);
  });

  test('come from each repository of a set, and one that cannot be read is named', async () => {
    const good = await connect((await here.makeRepository({ '.claude/agents/a.md': 'A.' })).url);
    const bad = await connect(here.host.url('never-made'));
    const set = await here.org.call('POST', '/v1/repository-sets', {
      name: crypto.randomUUID(),
      repository_ids: [bad, good],
    });
    expect(set.status).toBe(201);
    const id = await here.makeEnvironment(here.org, { repository_set_id: set.body.repository_set.id });
    const { body } = await read(id);
    expect(body.repo_skills).toMatchObject([{ repository_id: good, kind: 'agent' }]);
    expect(body.error).toMatch(/^never-made: .*no repository/);
  });

  test('of a repository that cannot be read are an error in words', async () => {
    const id = await here.makeEnvironment(here.org, {
      repository_id: await connect(here.host.url('also-never-made')),
    });
    const { body } = await read(id);
    expect(body).toEqual({
      repo_skills: [],
      error: expect.stringMatching(/^The git host knows no repository/),
    });
  });
});
