import type { Trigger } from '../../src/contract/automation.ts';
import { pick, type Random } from '../chaos/random.ts';
import { type Recorded, recordedAt } from '../world/github-event.ts';

/** An organization of the plan: its secret, its repositories and its automations, by names of the plan's own. */
export type Tenant = { name: string; secret: string; urls: string[]; automations: Plan[] };
type Listening = Extract<Trigger, { type: 'github' }>['config'];
/** An automation; `url` is the repository it names, and none for all. */
export type Plan = {
  name: string;
  enabled: boolean;
  listens: (Omit<Listening, 'repository_ids'> & { url?: string })[];
};

/** What has happened on the host. */
export type Happening = {
  delivery: string;
  url: string;
  actor: string;
  number: number | null;
  comment: string | null;
  /** What it is for automations. */
  events: string[];
  name: string;
  payload: Recorded;
};
export type Request = {
  happening: Happening;
  secret: string;
  spoiled: 'secret' | 'byte' | 'repository' | null;
};

const host = 'https://git.example.com';
const shared = `${host}/acme/shop`;
const actors = ['Ada', 'bob', 'Robot[bot]'];
const comments = ['/replica go', '/fix it', 'Looks good.', '/replicas'];

/** Three organizations: all have connected one repository, two of them with the same secret. */
export const tenants: Tenant[] = [
  {
    name: 'red',
    secret: 'secret-of-red-and-blue',
    urls: [shared, `${host}/acme/tools`],
    automations: [
      plan('opened', { event: 'pull_request.opened' }),
      plan('follows', ...grouped('pull_request.opened', 'pull_request.synchronize', 'pull_request.merged')),
      plan('tools only', { event: 'push', url: `${host}/acme/tools` }, { event: 'issues.opened' }),
      plan('not bots', { event: 'issue_comment.created', excluded_actors: ['robot[BOT]'] }),
      { ...plan('off', { event: 'push' }), enabled: false },
    ],
  },
  {
    name: 'blue',
    secret: 'secret-of-red-and-blue',
    urls: [shared],
    automations: [
      plan('commands', { event: 'pull_request.command' }, { event: 'issue_comment.created' }),
      plan('labels', { event: 'issues.labeled', excluded_actors: ['ada', 'bob'] }),
    ],
  },
  {
    name: 'green',
    secret: 'secret-of-green-alone',
    urls: [shared, `${host}/acme/web`],
    automations: [
      plan('fixes', { event: 'pull_request.command', command: '/fix', group_pr_events: true }),
      plan(
        'closed',
        { event: 'pull_request.closed' },
        { event: 'pull_request.merged', excluded_actors: ['ADA'] },
      ),
    ],
  },
];

function plan(name: string, ...listens: Plan['listens']): Plan {
  return { name, enabled: true, listens };
}

function grouped(...events: Listening['event'][]): Plan['listens'] {
  return events.map((event) => ({ event, group_pr_events: true }));
}

const makers: ((url: string, random: Random) => Omit<Happening, 'delivery' | 'url' | 'actor'>)[] = [
  (url, random) => pullRequest(url, random, 'opened', ['pull_request.opened']),
  (url, random) => pullRequest(url, random, 'synchronize', ['pull_request.synchronize']),
  (url, random) => pullRequest(url, random, 'closed', ['pull_request.closed']),
  (url, random) => {
    const merged = pullRequest(url, random, 'closed', ['pull_request.merged']);
    merged.payload.pull_request.merged = true;
    return merged;
  },
  (url, random) => pullRequest(url, random, 'labeled', []),
  (url) => plain(url, 'issues', 'opened', ['issues.opened']),
  (url) => plain(url, 'issues', 'labeled', ['issues.labeled']),
  (url) => plain(url, 'star', 'created', []),
  (url) => plain(url, 'push', (payload) => payload.deleted === false, ['push']),
  (url, random) => {
    const comment = pick(random, comments);
    const said = plain(url, 'issue_comment', 'created', ['issue_comment.created']);
    const number = 1 + Math.floor(random() * 20);
    if (comment.startsWith('/')) said.events.push('pull_request.command');
    said.payload.issue.number = number;
    said.payload.issue.pull_request = { html_url: `${url}/pull/${number}` };
    said.payload.comment.body = comment;
    return { ...said, number, comment };
  },
];

function plain(url: string, name: string, fits: Parameters<typeof recordedAt>[2], events: string[]) {
  const payload = withoutLinks(recordedAt(`${url}.git`, name, fits));
  return { name, events, number: null, comment: null, payload };
}

/** Most of a recorded event are addresses of an API that is not there. */
function withoutLinks(value: Recorded): Recorded {
  if (typeof value !== 'object' || value === null) return value;
  for (const [key, item] of Object.entries(value)) {
    if (/_url$|^_?links$/.test(key) && !/^(html|clone)_url$/.test(key)) delete value[key];
    else withoutLinks(item);
  }
  return value;
}

function pullRequest(url: string, random: Random, action: string, events: string[]) {
  const number = 1 + Math.floor(random() * 20);
  const made = { ...plain(url, 'pull_request', action, events), number };
  made.payload.pull_request.number = number;
  return made;
}

/** So many calls of the host: each thing that happens told to some hooks, some more than once, in any order, some spoiled. */
export function planRequests(random: Random, total: number): Request[] {
  const requests: Request[] = [];
  const urls = [...new Set(tenants.flatMap((tenant) => tenant.urls))];
  for (let made = 0; requests.length < total; made++) {
    const url = pick(random, urls);
    const actor = pick(random, actors);
    const happening = { delivery: `delivery-${made}`, url, actor, ...pick(random, makers)(url, random) };
    Object.assign(happening.payload, { marker: happening.delivery });
    happening.payload.sender.login = actor;
    const secrets = new Set(
      tenants.filter((tenant) => tenant.urls.includes(url)).map(({ secret }) => secret),
    );
    for (const secret of secrets) {
      // Some hooks are not told, or only wrongly.
      const copies = pick(random, [0, 1, 1, 2, 3, 5]);
      for (let copy = 0; copy < copies; copy++) requests.push({ happening, secret, spoiled: null });
      const spoiled = pick(random, ['secret', 'byte', 'repository', null, null, null] as const);
      if (spoiled) requests.push({ happening, secret, spoiled });
    }
  }
  return shuffle(random, requests.slice(0, total));
}

function shuffle<T>(random: Random, list: T[]): T[] {
  return list
    .map((item) => ({ item, at: random() }))
    .sort((one, other) => one.at - other.at)
    .map(({ item }) => item);
}

/** The runs that these calls must lead to, each once: `tenant/automation delivery subject`. */
export function expectedRuns(requests: readonly Request[]): string[] {
  const runs = new Set<string>();
  for (const { happening, secret, spoiled } of requests) {
    if (spoiled) continue;
    for (const tenant of tenants)
      if (tenant.secret === secret && tenant.urls.includes(happening.url))
        for (const each of tenant.automations) {
          const subject = subjectOf(each, happening);
          if (subject !== null) runs.add(`${tenant.name}/${each.name} ${happening.delivery} ${subject}`);
        }
  }
  return [...runs].sort();
}

/** What a run of the automation is about: the pull request or `-`; null when there is none. */
function subjectOf({ enabled, listens }: Plan, happening: Happening): string | null {
  const { url, actor, number, comment, events } = happening;
  const found = listens.find(({ event, url: only = url, excluded_actors = [], command = '/replica' }) => {
    const isOut = excluded_actors.some((name) => name.toUpperCase() === actor.toUpperCase());
    const isSaid = event !== 'pull_request.command' || comment?.split(' ')[0] === command;
    return events.includes(event) && only === url && !isOut && isSaid;
  });
  if (!enabled || !found) return null;
  return found.group_pr_events && number !== null ? `${url}#${number}` : '-';
}
