-- Agents at work: what they ask of models, what they may be asked, and the pull requests they open.

alter table message
  -- Why the turn failed, for programs; `error` is the sentence for people.
  add column failure text;

alter table replica
  -- What its agents may spend on models, in millionths of a dollar; null for as much as the organization lets them.
  add column model_budget_micros bigint check (model_budget_micros >= 0);

-- One row for each answer of a model. Written by the gateway that passed it on. Chats and messages are no references: what
-- was spent stays known when they are gone.
create table model_usage (
  id uuid primary key,
  organization_id uuid not null references organization (id) on delete cascade,
  replica_id uuid not null references replica (id) on delete cascade,
  chat_id uuid not null,
  -- Null for what an agent asked outside of a turn.
  message_id uuid,
  agent text not null check (agent in ('claude', 'codex', 'cursor', 'opencode')),
  model text not null,
  -- Whether it was the scripted model, which costs nothing.
  is_offline boolean not null default false,
  -- All of them 0 when the provider has not said what it counted.
  input_tokens bigint not null,
  output_tokens bigint not null,
  cache_read_tokens bigint not null,
  cache_write_tokens bigint not null,
  -- Millionths of a dollar; null when it is not known.
  cost_micros bigint,
  at timestamptz(3) not null
);
-- What budgets are held against is added up with every request of an agent, without a look at the rows themselves.
create index model_usage_replica on model_usage (replica_id) include (cost_micros);
create index model_usage_organization on model_usage (organization_id, at) include (cost_micros);

-- What an organization lets its agents spend on models in a calendar month of UTC.
create table model_budget (
  organization_id uuid primary key references organization (id) on delete cascade,
  monthly_micros bigint not null check (monthly_micros >= 0),
  updated_at timestamptz(3) not null
);

-- What can be written after a slash, as the agents of a replica have said last.
create table agent_command (
  replica_id uuid not null references replica (id) on delete cascade,
  agent text not null check (agent in ('claude', 'codex', 'cursor', 'opencode')),
  commands jsonb not null,
  updated_at timestamptz(3) not null,
  primary key (replica_id, agent)
);

-- Pull requests (merge requests) that come from a replica.
create table replica_pull_request (
  id uuid primary key,
  organization_id uuid not null references organization (id) on delete cascade,
  replica_id uuid not null references replica (id) on delete cascade,
  -- Not a reference, nor is the message: a pull request outlives both.
  repository_id uuid not null,
  number integer not null,
  url text not null,
  branch text,
  -- The turn in which it was found first; null when it was outside of one.
  message_id uuid,
  created_at timestamptz(3) not null,
  constraint replica_pull_request_number_key unique (replica_id, repository_id, number)
);
create index replica_pull_request_repository on replica_pull_request (repository_id, number);

-- How an organization's git hosts are spoken to, besides git itself.
create table git_host (
  id uuid primary key,
  organization_id uuid not null references organization (id) on delete cascade,
  -- As it stands in the URLs of repositories, with the port when it is not the usual one.
  host text not null,
  kind text not null check (kind in ('github', 'gitlab')),
  api_url text not null,
  updated_at timestamptz(3) not null,
  constraint git_host_host_key unique (organization_id, host)
);
