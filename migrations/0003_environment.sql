-- Environments and everything attached to them.

create table environment (
  id uuid primary key,
  organization_id uuid not null references organization (id) on delete cascade,
  name text not null,
  description text,
  is_global boolean not null default false,
  repository_id uuid references repository (id),
  repository_set_id uuid references repository_set (id),
  system_prompt text,
  created_at timestamptz(3) not null,
  updated_at timestamptz(3) not null,
  constraint environment_name_key unique (organization_id, name),
  constraint environment_one_binding check (repository_id is null or repository_set_id is null),
  constraint environment_global_unbound check (not is_global or (repository_id is null and repository_set_id is null))
);
create unique index environment_one_global on environment (organization_id) where is_global;
create index environment_repository on environment (repository_id);
create index environment_repository_set on environment (repository_set_id);

create table environment_variable (
  id uuid primary key,
  organization_id uuid not null references organization (id) on delete cascade,
  environment_id uuid not null references environment (id) on delete cascade,
  key text not null,
  value bytea not null,
  created_at timestamptz(3) not null,
  updated_at timestamptz(3) not null,
  constraint environment_variable_key_key unique (environment_id, key)
);

create table environment_file (
  id uuid primary key,
  organization_id uuid not null references organization (id) on delete cascade,
  environment_id uuid not null references environment (id) on delete cascade,
  name text not null,
  path text not null,
  content bytea not null,
  created_at timestamptz(3) not null,
  updated_at timestamptz(3) not null,
  constraint environment_file_path_key unique (environment_id, path)
);

create table environment_skill (
  id uuid primary key,
  organization_id uuid not null references organization (id) on delete cascade,
  environment_id uuid not null references environment (id) on delete cascade,
  name text not null,
  slug text not null,
  source text not null,
  created_at timestamptz(3) not null,
  updated_at timestamptz(3) not null,
  constraint environment_skill_slug_key unique (environment_id, slug),
  constraint environment_skill_source_key unique (environment_id, source)
);

create table skill_registry (
  id uuid primary key,
  organization_id uuid not null references organization (id) on delete cascade,
  environment_id uuid not null references environment (id) on delete cascade,
  -- The connected repository with the same URL, whose credential the last scan used.
  repository_id uuid references repository (id) on delete set null,
  name text not null,
  url text not null,
  -- The one spelling under which all URLs of the same repository are equal.
  url_key text not null,
  repository_full_name text not null,
  default_branch text,
  head_commit text,
  error text,
  repo_skills jsonb not null default '[]',
  scanned_at timestamptz(3),
  created_at timestamptz(3) not null,
  updated_at timestamptz(3) not null,
  constraint skill_registry_url_key unique (environment_id, url_key)
);
create index skill_registry_due on skill_registry (coalesce(scanned_at, created_at));
create index skill_registry_repository on skill_registry (repository_id);

create table environment_mcp (
  id uuid primary key,
  organization_id uuid not null references organization (id) on delete cascade,
  environment_id uuid not null references environment (id) on delete cascade,
  name text not null,
  transport text not null check (transport in ('stdio', 'http', 'sse')),
  config bytea not null,
  created_at timestamptz(3) not null,
  updated_at timestamptz(3) not null,
  constraint environment_mcp_name_key unique (environment_id, name)
);

create table hook (
  id uuid primary key,
  organization_id uuid not null references organization (id) on delete cascade,
  environment_id uuid not null references environment (id) on delete cascade,
  kind text not null check (kind in ('warm', 'start')),
  version integer not null,
  content text not null,
  is_active boolean not null,
  created_at timestamptz(3) not null,
  constraint hook_version_key unique (environment_id, kind, version)
);
create unique index hook_one_active on hook (environment_id, kind) where is_active;

create table warm_pool (
  id uuid primary key,
  organization_id uuid not null references organization (id) on delete cascade,
  environment_id uuid not null references environment (id) on delete cascade,
  enabled boolean not null,
  generation integer not null default 1,
  error_count integer not null default 0,
  next_retry_at timestamptz(3),
  last_error_at timestamptz(3),
  last_error_message text,
  last_failure_at timestamptz(3),
  last_failure_reason text,
  created_at timestamptz(3) not null,
  updated_at timestamptz(3) not null,
  constraint warm_pool_environment_key unique (environment_id)
);

create table warm_pool_workspace (
  id uuid primary key,
  organization_id uuid not null references organization (id) on delete cascade,
  warm_pool_id uuid not null references warm_pool (id) on delete cascade,
  sandbox_id text,
  status text not null check (status in ('warming', 'snapshotting', 'ready', 'assigned', 'expired', 'failed')),
  generation integer not null,
  error_message text,
  created_at timestamptz(3) not null,
  updated_at timestamptz(3) not null
);
create index warm_pool_workspace_pool on warm_pool_workspace (warm_pool_id, status);

create table coding_agent_setting (
  id uuid primary key,
  organization_id uuid not null references organization (id) on delete cascade,
  agent text not null check (agent in ('claude', 'codex', 'cursor', 'opencode')),
  api_key bytea not null,
  base_url text,
  created_at timestamptz(3) not null,
  updated_at timestamptz(3) not null,
  constraint coding_agent_setting_agent_key unique (organization_id, agent)
);

-- An automation holds on to its environment: the binding cannot change and the row cannot go while it stands.
create table automation (
  id uuid primary key,
  organization_id uuid not null references organization (id) on delete cascade,
  environment_id uuid not null references environment (id),
  name text not null,
  created_at timestamptz(3) not null,
  updated_at timestamptz(3) not null
);
create index automation_environment on automation (environment_id);
