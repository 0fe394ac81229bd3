import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import { createGithubApps, type GithubApps, isForApps } from './github-apps.ts';

type Pull = { number: number; head: string; base: string; title: string; body: string; isDraft: boolean };
// biome-ignore lint/suspicious/noExplicitAny: bodies are those that the test has sent.
type Body = any;
type Call = { method: string; parts: string[]; query: URLSearchParams; body: Body };
export type Answer = { status: number; body: object };
type Special = Answer | ((response: ServerResponse) => void);

/**
 * A stand-in for the APIs of GitHub and GitLab, on the loopback address: it answers to the few calls that the service makes
 * with the fields and statuses of their published descriptions, and knows one repository, `team/app`. GitHub Apps may be
 * installed there; tokens that they ask for work like the one it was started with.
 */
export type GitHostApiStandIn = {
  /** Where each of the two APIs begins. */
  githubUrl: string;
  gitlabUrl: string;
  /** As it stands in the URL of a repository. */
  host: string;
  /** Branches that were pushed and are ahead of `main`. */
  branches: Set<string>;
  pulls: Pull[];
  /** Method and path of every call so far, and what came with it. */
  calls: { line: string; authorization: string | undefined; body: Body }[];
  comments: { number: number; body: string }[];
  /** Numbers of pull requests that are open no more. */
  closed: Set<number>;
  /** The commits that branches are at. */
  commits: Map<string, string>;
  apps: GithubApps;
  /** Answers the next call that nothing was said of yet with this instead. */
  answerNext(answer: Special): void;
  close(): Promise<void>;
};

export async function startGitHostApi({ token }: { token: string }): Promise<GitHostApiStandIn> {
  const pulls: Pull[] = [];
  const comments: GitHostApiStandIn['comments'] = [];
  const calls: GitHostApiStandIn['calls'] = [];
  const branches = new Set<string>();
  const closed = new Set<number>();
  const commits = new Map<string, string>();
  const specials: Special[] = [];
  const apps = createGithubApps();

  /** The open ones of a branch, into another one when it is named. */
  const findAll = (head: unknown, base: unknown) =>
    pulls.filter(
      (one) => one.head === head && !closed.has(one.number) && (base === null || one.base === base),
    );
  const find = (head: unknown, base: unknown) => findAll(head, base)[0];
  const commitOf = (branch: string) => commits.get(branch) ?? 'a'.repeat(40);
  function open(pull: Omit<Pull, 'number'>): Pull {
    const made = { ...pull, number: pulls.length + 1 };
    pulls.push(made);
    return made;
  }
  function comment(number: number, body: string): number {
    comments.push({ number, body });
    return 100 + comments.length;
  }

  const shown = (pull: Pull) => ({
    number: pull.number,
    html_url: `https://github.example/team/app/pull/${pull.number}`,
    state: closed.has(pull.number) ? 'closed' : 'open',
    head: { ref: pull.head, sha: commitOf(pull.head) },
    updated_at: new Date().toISOString().replace(/\.\d+/, ''),
    draft: pull.isDraft,
    title: pull.title,
  });

  function github({ method, parts, query, body }: Call): Answer {
    const [repos, owner, name, kind, number, rest] = parts;
    if (repos !== 'repos' || `${owner}/${name}` !== 'team/app') return notFound;
    if (method === 'POST' && kind === 'pulls' && number === undefined) {
      const invalid = (message: string) => ({
        status: 422,
        body: {
          message: 'Validation Failed',
          errors: [{ resource: 'PullRequest', code: 'custom', message }],
        },
      });
      if (!branches.has(body.head)) return invalid('head is not a branch');
      if (find(body.head, body.base)) return invalid(`A pull request already exists for team:${body.head}.`);
      const { head, base, title, body: text, draft } = body;
      return { status: 201, body: shown(open({ head, base, title, body: text, isDraft: draft })) };
    }
    if (method === 'GET' && kind === 'pulls') {
      const found = findAll(query.get('head')?.replace(/^team:/, ''), query.get('base'));
      return { status: 200, body: found.map(shown) };
    }
    if (method === 'POST' && kind === 'issues' && rest === 'comments') {
      if (!pulls.some((one) => one.number === Number(number))) return notFound;
      const id = comment(Number(number), body.body);
      const url = `https://github.example/team/app/pull/${number}#issuecomment-${id}`;
      return { status: 201, body: { id, html_url: url } };
    }
    return notFound;
  }

  const merge = (pull: Pull) => ({
    id: 5_000 + pull.number,
    iid: pull.number,
    web_url: `https://gitlab.example/team/app/-/merge_requests/${pull.number}`,
    state: closed.has(pull.number) ? 'closed' : 'opened',
    sha: commitOf(pull.head),
    source_project_id: 3,
    target_project_id: 3,
    updated_at: new Date().toISOString(),
    title: pull.title,
  });

  function gitlab({ method, parts, query, body }: Call): Answer {
    const [projects, project, kind, iid, rest] = parts;
    const unknown = { status: 404, body: { message: '404 Project Not Found' } };
    if (projects !== 'projects' || project !== 'team%2Fapp' || kind !== 'merge_requests') return unknown;
    if (method === 'POST' && iid === undefined) {
      const { source_branch: head, target_branch: base, title, description } = body;
      if (!branches.has(head)) return { status: 400, body: { message: ['Source branch does not exist'] } };
      if (find(head, base))
        return { status: 409, body: { message: ['Another open merge request already exists: !1'] } };
      const isDraft = title.startsWith('Draft: ');
      return { status: 201, body: merge(open({ head, base, title, body: description, isDraft })) };
    }
    if (method === 'GET' && iid === undefined) {
      const found = findAll(query.get('source_branch'), query.get('target_branch'));
      return { status: 200, body: found.map(merge) };
    }
    const pull = pulls.find((one) => one.number === Number(iid));
    if (!pull) return { status: 404, body: { message: '404 Not found' } };
    if (method === 'GET') return { status: 200, body: merge(pull) };
    if (method === 'POST' && rest === 'notes')
      return { status: 201, body: { id: comment(pull.number, body.body), body: body.body } };
    return unknown;
  }

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = '', url = '', headers } = request;
    const { pathname, searchParams: query } = new URL(url, 'http://host');
    const body = method === 'POST' ? await json(request) : null;
    calls.push({ line: `${method} ${url}`, authorization: headers.authorization, body });
    const special = specials.shift();
    if (typeof special === 'function') return special(response);
    const isGitHub = pathname.startsWith('/github/');
    const parts = pathname.replace(/^\/(github|gitlab)\//, '').split('/');
    const refused = { status: 401, body: { message: isGitHub ? 'Bad credentials' : '401 Unauthorized' } };
    const call = { method, parts, query, body };
    const given = special ?? (await answer());
    response.writeHead(given.status, { 'content-type': 'application/json' }).end(JSON.stringify(given.body));

    async function answer(): Promise<Answer> {
      const bearer = headers.authorization?.replace(/^Bearer /, '') ?? '';
      if (isGitHub && isForApps(call)) return apps.answer(call, bearer);
      const isKnown = bearer === token || (isGitHub && apps.isToken(bearer));
      if (!isKnown) return refused;
      return isGitHub ? github(call) : gitlab(call);
    }
  }

  const server = createServer((request, response) => {
    serve(request, response).catch(() => response.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    host,
    githubUrl: `http://${host}/github`,
    gitlabUrl: `http://${host}/gitlab`,
    branches,
    pulls,
    calls,
    comments,
    closed,
    commits,
    apps,
    answerNext: (answer) => void specials.push(answer),
    async close() {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
}

const notFound = { status: 404, body: { message: 'Not Found', status: '404' } };
