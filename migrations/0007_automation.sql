-- What starts replicas without a caller, what they tell others, and what git hosts tell of them.

-- Events of replicas for those who gave a callback address. Written in the transaction of what they tell, in order.
create table webhook_event (
  -- The event's stable id.
  id uuid primary key,
  organization_id uuid not null references organization (id) on delete cascade,
  replica_id uuid not null references replica (id) on delete cascade,
  type text not null check (type in ('replica.ready', 'replica.turn_completed', 'replica.deleted', 'replica.error')),
  -- The very bytes that are sent and signed.
  body text not null,
  created_at timestamptz(3) not null
);
create index webhook_event_created on webhook_event (created_at);

-- One delivery of an event. Retries belong to it; a redelivery is another one. Deliveries of a replica are made in the order of `seq`,
-- the next one when the one before it has ended.
create table webhook_delivery (
  id uuid primary key,
  webhook_event_id uuid not null references webhook_event (id) on delete cascade,
  organization_id uuid not null references organization (id) on delete cascade,
  replica_id uuid not null references replica (id) on delete cascade,
  seq bigint not null generated always as identity,
  url text not null,
  -- Scheme, host and port of the address: receivers are kept apart by it.
  origin text not null,
  state text not null default 'pending' check (state in ('pending', 'delivered', 'failed')),
  -- Attempts whose end is known.
  attempts integer not null default 0,
  -- When it is due. Pushed ahead while an attempt is on its way, so that a killed process leaves it to another one. Null
  -- while one before it waits: who looks for what is due does not have to pass over it.
  due_at timestamptz(3),
  is_redelivery boolean not null default false,
  created_at timestamptz(3) not null,
  finished_at timestamptz(3)
);
create unique index webhook_delivery_waiting on webhook_delivery (replica_id, seq) where state = 'pending';
create index webhook_delivery_due on webhook_delivery (due_at) where state = 'pending';
-- What is due is looked for receiver by receiver, as each organization has them.
create index webhook_delivery_origin on webhook_delivery (origin, organization_id, due_at, seq)
  where state = 'pending' and due_at is not null;
create index webhook_delivery_failed on webhook_delivery (id) where state = 'failed';
create index webhook_delivery_replica on webhook_delivery (replica_id, seq desc);
create index webhook_delivery_event on webhook_delivery (webhook_event_id);

create table webhook_attempt (
  webhook_delivery_id uuid not null references webhook_delivery (id) on delete cascade,
  number integer not null,
  started_at timestamptz(3) not null,
  duration_ms integer not null,
  -- What the receiver answered; null when it did not.
  status integer,
  error text,
  primary key (webhook_delivery_id, number)
);

alter table automation
  add column description text,
  add column triggers jsonb not null default '[]',
  add column prompt text not null default '',
  add column debounce_seconds integer check (debounce_seconds between 0 and 86400),
  add column enabled boolean not null default true,
  -- Why the service has switched it off; null when a person did or it is on.
  add column disabled_reason text,
  -- Failures since the last success.
  add column failure_count integer not null default 0,
  -- Sealed, and the hash under which it is found.
  add column webhook_token bytea,
  add column webhook_token_hash bytea constraint automation_webhook_token_key unique,
  add column webhook_secret bytea,
  -- Where its replicas tell what becomes of them; the secret is sealed.
  add column callback_url text,
  add column callback_secret bytea,
  add column cron_expression text,
  add column cron_timezone text,
  -- The next minute the schedule names.
  add column cron_next_fire_at timestamptz(3),
  -- When that fire begins: later by its jitter.
  add column cron_due_at timestamptz(3),
  -- The owner of a personal one; null for the organization's.
  add column person_id uuid references person (id) on delete cascade,
  add column created_by uuid references person (id) on delete set null,
  add column workspace_lifecycle_policy text not null default 'default'
    check (workspace_lifecycle_policy in ('default', 'delete_when_done', 'delete_after_inactivity')),
  add column workspace_auto_stop_minutes integer check (workspace_auto_stop_minutes between 1 and 10080),
  add column workspace_size text not null default 'small' check (workspace_size in ('small', 'large')),
  add column config jsonb not null default '{}',
  add column agent_provider text check (agent_provider in ('claude', 'codex', 'cursor', 'opencode')),
  add column model text,
  add column thinking_level text check (thinking_level in ('low', 'medium', 'high', 'max')),
  add column plan_mode boolean not null default false,
  add column goal_mode boolean not null default false,
  add column fast_mode boolean not null default false;
create index automation_listed on automation (organization_id, created_at desc, id desc);
create index automation_cron_due on automation (cron_due_at) where enabled and cron_due_at is not null;
-- Those that listen to what git hosts tell.
create index automation_listening on automation (organization_id)
  where enabled and (triggers @> '[{"type": "github"}]' or triggers @> '[{"type": "gitlab"}]');

create table automation_execution (
  id uuid primary key,
  automation_id uuid not null references automation (id) on delete cascade,
  organization_id uuid not null references organization (id) on delete cascade,
  -- The replica; not a reference, since it is set before and stays after it. Null until there is one.
  replica_id uuid,
  -- The message it sent there.
  message_id uuid,
  trigger_type text not null check (trigger_type in ('cron', 'github', 'gitlab', 'custom', 'manual')),
  trigger_payload jsonb,
  -- What must not lead to a second execution: the minute of a schedule, the delivery of an event.
  cause text not null,
  -- The pull request it is about, `repository-id#number`; later events of it follow into its replica when grouped.
  subject text,
  status text not null check (status in ('pending', 'creating', 'running', 'completed', 'failed')),
  config jsonb not null default '{}',
  error text,
  triggered_at timestamptz(3) not null,
  completed_at timestamptz(3),
  constraint automation_execution_cause_key unique (automation_id, cause)
);
create index automation_execution_listed on automation_execution (automation_id, triggered_at desc, id desc);
create index automation_execution_open on automation_execution (automation_id, id)
  where status in ('pending', 'creating', 'running');
create index automation_execution_replica on automation_execution (replica_id) where status in ('creating', 'running');
create index automation_execution_message on automation_execution (message_id) where status in ('creating', 'running');
create index automation_execution_ended on automation_execution (completed_at) where completed_at is not null;
create index automation_execution_subject on automation_execution (automation_id, subject, id desc) where subject is not null;

-- The run that waits until no more events come: one for each automation, or for each pull request when grouped.
create table automation_debounce (
  automation_id uuid not null references automation (id) on delete cascade,
  -- Empty, or the pull request.
  subject text not null,
  trigger_type text not null check (trigger_type in ('github', 'gitlab', 'custom')),
  trigger_payload jsonb,
  cause text not null,
  due_at timestamptz(3) not null,
  primary key (automation_id, subject)
);
create index automation_debounce_due on automation_debounce (due_at);

-- Ids of deliveries that were taken; a second one with the same id changes nothing.
create table inbound_delivery (
  organization_id uuid not null references organization (id) on delete cascade,
  -- `github:HOST`, `gitlab:HOST` or `automation:ID`.
  source text not null,
  delivery_id text not null,
  at timestamptz(3) not null,
  primary key (organization_id, source, delivery_id)
);
create index inbound_delivery_at on inbound_delivery (at);

-- What a git host told and nobody has looked at yet.
create table git_event (
  id uuid primary key,
  organization_id uuid not null references organization (id) on delete cascade,
  repository_id uuid not null references repository (id) on delete cascade,
  kind text not null check (kind in ('github', 'gitlab')),
  delivery_id text not null,
  -- The host's own name of the event, and all it said.
  name text not null,
  payload jsonb not null,
  at timestamptz(3) not null
);
create index git_event_organization on git_event (organization_id);
create index git_event_repository on git_event (repository_id);

alter table git_host
  -- What the host signs its calls with, sealed.
  add column webhook_secret bytea;

-- URLs of repositories are compared without regard to case when a git host names one.
create index repository_url_lower on repository (lower(url_key));

alter table repository_credential
  -- A `github_app` has its id as user name and its private key as secret; tokens are made with it.
  add column kind text not null default 'token' check (kind in ('token', 'github_app'));

-- Short-lived tokens that were made with a credential, sealed.
create table installation_token (
  id uuid primary key,
  repository_credential_id uuid not null references repository_credential (id) on delete cascade,
  -- Host and owner whose installation it is of.
  scope text not null,
  token bytea,
  made_at timestamptz(3),
  expires_at timestamptz(3),
  -- Set while one process makes it and the others wait; a killed process leaves it to another one at this time.
  making_until timestamptz(3),
  constraint installation_token_scope_key unique (repository_credential_id, scope)
);

alter table replica
  -- Minutes without activity after which it sleeps; null for what the operator has set.
  add column auto_stop_minutes integer,
  -- Set when its last pull request was merged or closed: it is archived when nothing is left to do in it.
  add column closes_when_idle boolean not null default false;
-- Deleted ones whose events may still be delivered.
create index replica_webhook_left on replica (deleted_at) where state = 'deleted' and webhook_url is not null;

alter table replica_pull_request
  add column state text not null default 'open' check (state in ('open', 'merged', 'closed')),
  add column head_commit text,
  -- The latest change that the git host told of, by its own clock: what is older changes nothing.
  add column updated_at timestamptz(3);
-- A pull request's message is the turn whose end has told it; these are the ones that none has told yet.
create index replica_pull_request_untold on replica_pull_request (replica_id) where message_id is null;

-- Branches that a replica has pushed.
create table replica_branch (
  replica_id uuid not null references replica (id) on delete cascade,
  -- Not a reference: what was pushed outlives the connection.
  repository_id uuid not null,
  branch text not null,
  head_commit text not null,
  pushed_at timestamptz(3) not null,
  primary key (replica_id, repository_id, branch)
);
create index replica_branch_name on replica_branch (repository_id, branch);

-- What was said of a pull request and is to reach its replica, once.
create table pull_request_remark (
  id uuid primary key,
  replica_pull_request_id uuid not null references replica_pull_request (id) on delete cascade,
  kind text not null check (kind in ('check', 'review', 'comment')),
  -- What tells it from others: the check and commit, the comment's address.
  key text not null,
  text text not null,
  at timestamptz(3) not null,
  -- The message that carries it; null while it waits to be folded into one.
  message_id uuid,
  constraint pull_request_remark_key unique (replica_pull_request_id, kind, key)
);
create index pull_request_remark_waiting on pull_request_remark (replica_pull_request_id) where message_id is null;

-- Comments that replicas made; they are no news to them.
create table own_comment (
  replica_id uuid not null references replica (id) on delete cascade,
  url text not null,
  at timestamptz(3) not null,
  primary key (replica_id, url)
);
create index own_comment_url on own_comment (url);

-- The size of sandboxes for which nobody names one, where the organization does not leave it to the operator.
create table sandbox_tier (
  organization_id uuid primary key references organization (id) on delete cascade,
  size text not null check (size in ('small', 'large')),
  updated_at timestamptz(3) not null
);

alter table warm_pool
  -- The size of every workspace of the present generation; null until the first is begun.
  add column size text check (size in ('small', 'large'));

-- What has left its queue and has yet to reach its engine: few at any time, and looked for each second.
create index message_unsent on message (created_at) where state = 'running' and sent_at is null;
