-- Replicas, the sandboxes that run them, and everything that is known of them while no sandbox runs.

alter table environment
  -- Null: what the operator has set applies.
  add column egress_mode text check (egress_mode in ('none', 'allowlist', 'open')),
  add column egress_hosts text[] not null default '{}';

-- A machine, or a data folder on it, whose driver holds sandboxes.
create table runtime_host (
  id uuid primary key,
  seen_at timestamptz(3) not null
);

create table replica (
  id uuid primary key,
  organization_id uuid not null references organization (id) on delete cascade,
  environment_id uuid references environment (id) on delete set null,
  person_id uuid references person (id) on delete set null,
  name text not null,
  source text not null check (source in ('api', 'dashboard', 'slack', 'linear', 'github', 'gitlab', 'automation')),
  state text not null check (state in ('preparing', 'active', 'falling_asleep', 'sleeping', 'waking', 'archiving',
    'archived', 'failed', 'deleting', 'deleted')),
  -- Goes up with every change of state.
  version integer not null default 1,
  -- Goes up with every start of its sandbox; a report of an older one changes nothing.
  incarnation integer not null default 0,
  coding_agent text not null check (coding_agent in ('claude', 'codex', 'cursor', 'opencode')),
  lifecycle_policy text not null check (lifecycle_policy in ('default', 'delete_when_done', 'delete_after_inactivity')),
  -- Null when the caller named none: the operator's size at the legacy rate.
  size text check (size in ('small', 'large')),
  config jsonb not null default '{}',
  webhook_url text,
  webhook_secret bytea,
  error_message text,
  -- The host whose workers act for it, and where its sandbox is.
  host_id uuid not null,
  sandbox_id uuid,
  -- The boot that the present incarnation was given.
  boot_id uuid,
  -- The boot for which its sandbox was last started.
  started_boot_id uuid,
  -- Tries of the work that the present state owes, and how often a running sandbox was lost of late.
  attempts integer not null default 0,
  losses integer not null default 0,
  -- When something last moved on; the watchdog looks at it.
  progress_at timestamptz(3) not null,
  engine jsonb,
  environment_report jsonb,
  -- How the present incarnation came about: warm | layer | cold | resumed | rebuilt, and why.
  start_kind text,
  -- Whether the disk it has now was ever brought to what it shall be; until then a start is like the first one.
  has_booted boolean not null default false,
  start_reason text,
  warm_workspace_id uuid,
  event_seq bigint not null default 0,
  -- What its history takes, so that a sandbox cannot fill the database.
  history_bytes bigint not null default 0,
  sleep_due_at timestamptz(3),
  delete_due_at timestamptz(3),
  last_activity_at timestamptz(3),
  active_since timestamptz(3),
  slept_at timestamptz(3),
  deleted_at timestamptz(3),
  created_at timestamptz(3) not null,
  updated_at timestamptz(3) not null
);
create index replica_listed on replica (organization_id, created_at desc, id desc) where state not in ('deleting', 'deleted');
create index replica_owing on replica (progress_at)
  where state in ('preparing', 'falling_asleep', 'waking', 'archiving', 'failed', 'deleting');
create index replica_sleep_due on replica (sleep_due_at) where state = 'active';
create index replica_delete_due on replica (delete_due_at) where state not in ('deleting', 'deleted');
create index replica_environment on replica (environment_id);
create index replica_sandbox on replica (sandbox_id);
create index replica_host on replica (host_id) where state not in ('deleted', 'failed');

create table sandbox (
  id uuid primary key,
  organization_id uuid not null references organization (id) on delete cascade,
  environment_id uuid references environment (id) on delete set null,
  -- What it is for; exactly one of the two owners below is set unless it tests a hook.
  purpose text not null check (purpose in ('replica', 'warm_pool', 'hook_test')),
  replica_id uuid references replica (id) on delete cascade,
  warm_workspace_id uuid references warm_pool_workspace (id) on delete set null,
  hook_test_id uuid,
  host_id uuid not null,
  secret bytea not null,
  secret_hash bytea not null constraint sandbox_secret_key unique,
  size text not null,
  layers text[] not null default '{}',
  incarnation integer not null default 1,
  -- Set once the driver has started the present incarnation.
  started_at timestamptz(3),
  -- The number of the last event taken from its engine.
  acked_seq bigint not null default 0,
  -- Set when it is to go; the row goes when the driver has removed every trace.
  removing_at timestamptz(3),
  created_at timestamptz(3) not null
);
create index sandbox_replica on sandbox (replica_id);
create index sandbox_warm_workspace on sandbox (warm_workspace_id);
create index sandbox_host on sandbox (host_id);

create table replica_repository (
  replica_id uuid not null references replica (id) on delete cascade,
  -- Not a reference: what a replica has checked out outlives the connection.
  repository_id uuid not null,
  position integer not null,
  name text not null,
  url text not null,
  default_branch text,
  branch text,
  head_commit text,
  base_commit text,
  added integer,
  removed integer,
  diff text,
  is_diff_cut boolean not null default false,
  shadow_problem text,
  start_hooks_completed boolean not null default false,
  updated_at timestamptz(3) not null,
  primary key (replica_id, repository_id)
);

-- The uncommitted and unpushed work of a repository, as a git bundle on top of its base commit.
create table replica_shadow (
  replica_id uuid not null references replica (id) on delete cascade,
  repository_id uuid not null,
  base_commit text not null,
  head_commit text not null,
  shadow_commit text not null,
  branch text,
  bundle bytea not null,
  updated_at timestamptz(3) not null,
  primary key (replica_id, repository_id)
);

create table replica_event (
  replica_id uuid not null references replica (id) on delete cascade,
  seq bigint not null,
  at timestamptz(3) not null,
  type text not null,
  payload jsonb not null,
  primary key (replica_id, seq)
);

-- What was done for a replica and how long it took.
create table replica_step (
  id uuid primary key,
  replica_id uuid not null references replica (id) on delete cascade,
  incarnation integer not null,
  step text not null,
  started_at timestamptz(3) not null,
  duration_ms double precision not null,
  outcome text not null check (outcome in ('done', 'skipped', 'failed')),
  detail text
);
create index replica_step_replica on replica_step (replica_id, started_at, id);

create table chat (
  -- May be made by a caller, so it is unique in its replica only: whether others have it is nobody's business.
  id uuid not null,
  organization_id uuid not null references organization (id) on delete cascade,
  replica_id uuid not null references replica (id) on delete cascade,
  provider text not null check (provider in ('claude', 'codex', 'cursor', 'opencode')),
  title text,
  last_message_text text,
  last_message_at timestamptz(3),
  deleted_at timestamptz(3),
  created_at timestamptz(3) not null,
  updated_at timestamptz(3) not null,
  primary key (replica_id, id)
);
create index chat_replica on chat (replica_id, created_at);

-- A message of a user, from its acceptance to the end of its turn.
create table message (
  id uuid primary key,
  organization_id uuid not null references organization (id) on delete cascade,
  replica_id uuid not null references replica (id) on delete cascade,
  chat_id uuid not null,
  -- Order within the queue.
  position double precision not null,
  state text not null check (state in ('queued', 'running', 'completed', 'failed', 'interrupted', 'removed')),
  text text not null,
  options jsonb not null default '{}',
  sender jsonb,
  -- Set once the engine has taken it; cleared when the sandbox starts anew and it had not begun.
  sent_at timestamptz(3),
  started_at timestamptz(3),
  finished_at timestamptz(3),
  error text,
  created_at timestamptz(3) not null,
  foreign key (replica_id, chat_id) references chat (replica_id, id) on delete cascade
);
create index message_queue on message (replica_id, chat_id, position) where state in ('queued', 'running');
create unique index message_one_running on message (replica_id, chat_id) where state = 'running';
create index message_chat on message (replica_id, chat_id);
create index message_replica on message (replica_id, created_at);

-- The history of chats: the messages of users and the agents' own messages.
create table history_entry (
  id bigint generated always as identity primary key,
  replica_id uuid not null references replica (id) on delete cascade,
  chat_id uuid not null,
  message_id uuid,
  at timestamptz(3) not null,
  type text not null,
  payload jsonb not null,
  foreign key (replica_id, chat_id) references chat (replica_id, id) on delete cascade
);
create index history_entry_chat on history_entry (replica_id, chat_id, id);
create index history_entry_replica on history_entry (replica_id, id);

create table canvas_item (
  replica_id uuid not null references replica (id) on delete cascade,
  filename text not null,
  size_bytes bigint not null,
  -- Null when it is larger than what is kept.
  content bytea,
  updated_at timestamptz(3) not null,
  primary key (replica_id, filename)
);

-- A hook that is tried in a sandbox of its own while its caller waits.
create table hook_test (
  id uuid primary key,
  organization_id uuid not null references organization (id) on delete cascade,
  environment_id uuid not null references environment (id) on delete cascade,
  phase text not null check (phase in ('warm', 'start')),
  content text not null,
  save text not null check (save in ('never', 'always', 'on_success')),
  status text not null check (status in ('waiting', 'preparing', 'running', 'finished', 'failed', 'cancelled')),
  sandbox_id uuid,
  hook_run_id uuid,
  exit_code integer,
  timed_out boolean,
  error text,
  -- The caller is there as long as this is renewed.
  lease_until timestamptz(3) not null,
  created_at timestamptz(3) not null,
  updated_at timestamptz(3) not null
);
create index hook_test_open on hook_test (lease_until) where status in ('waiting', 'preparing', 'running');

-- A hook that ran, or runs, in a sandbox.
create table hook_run (
  id uuid primary key,
  organization_id uuid not null references organization (id) on delete cascade,
  sandbox_id uuid not null,
  -- Whose log it is: a replica's, a warm workspace's, or a test's.
  replica_id uuid references replica (id) on delete cascade,
  warm_workspace_id uuid references warm_pool_workspace (id) on delete cascade,
  hook_test_id uuid references hook_test (id) on delete cascade,
  phase text not null check (phase in ('warm', 'start')),
  type text not null check (type in ('global', 'environment', 'repository')),
  name text not null,
  repository_name text,
  commands text[] not null,
  position integer not null,
  status text not null check (status in ('waiting', 'running', 'finished')),
  exit_code integer,
  timed_out boolean not null default false,
  -- The first characters of the output; all of it is in hook_output.
  output text not null default '',
  output_chars bigint not null default 0,
  output_seq integer not null default 0,
  output_bytes bigint not null default 0,
  executed_at timestamptz(3),
  finished_at timestamptz(3),
  created_at timestamptz(3) not null
);
create index hook_run_replica on hook_run (replica_id);
create index hook_run_warm_workspace on hook_run (warm_workspace_id);
create index hook_run_test on hook_run (hook_test_id);
create index hook_run_sandbox on hook_run (sandbox_id);

create table hook_output (
  hook_run_id uuid not null references hook_run (id) on delete cascade,
  seq integer not null,
  text text not null,
  primary key (hook_run_id, seq)
);

-- The disk from which warm workspaces of one generation start.
create table warm_pool_layer (
  id uuid primary key,
  organization_id uuid not null references organization (id) on delete cascade,
  -- Null once the pool is gone: the layer is then only there to be removed.
  warm_pool_id uuid references warm_pool (id) on delete set null,
  generation integer not null,
  host_id uuid not null,
  -- The workspace whose warm hooks made it.
  built_by uuid,
  is_ready boolean not null default false,
  created_at timestamptz(3) not null
);
create index warm_pool_layer_pool on warm_pool_layer (warm_pool_id, generation);

alter table warm_pool_workspace
  add column layer_id uuid,
  add column replica_id uuid,
  add column host_id uuid,
  add column progress_at timestamptz(3);

create table preview (
  replica_id uuid not null references replica (id) on delete cascade,
  port integer not null check (port between 1 and 65535),
  is_public boolean not null default false,
  created_at timestamptz(3) not null,
  primary key (replica_id, port)
);

-- A stretch of time in which a replica was active; open until it ends.
create table awake_stretch (
  id uuid primary key,
  organization_id uuid not null references organization (id) on delete cascade,
  replica_id uuid not null references replica (id) on delete cascade,
  source text not null,
  -- Price of a minute in millionths.
  rate_micros integer not null,
  started_at timestamptz(3) not null,
  ended_at timestamptz(3)
);
create unique index awake_stretch_open on awake_stretch (replica_id) where ended_at is null;
create index awake_stretch_organization on awake_stretch (organization_id, started_at);

-- What a replica's sandbox asked to reach.
create table egress_contact (
  replica_id uuid not null references replica (id) on delete cascade,
  host text not null,
  port integer not null,
  is_allowed boolean not null,
  reason text,
  times bigint not null,
  first_at timestamptz(3) not null,
  last_at timestamptz(3) not null,
  primary key (replica_id, host, port, is_allowed)
);
