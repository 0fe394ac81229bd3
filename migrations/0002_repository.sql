-- Repositories an organization has connected, the credentials to read them, and sets of them.

create table repository_credential (
  id uuid primary key,
  organization_id uuid not null references organization (id) on delete cascade,
  name text not null,
  username text not null,
  secret bytea not null,
  created_at timestamptz(3) not null,
  constraint repository_credential_name_key unique (organization_id, name)
);

create table repository (
  id uuid primary key,
  organization_id uuid not null references organization (id) on delete cascade,
  credential_id uuid references repository_credential (id),
  name text not null,
  url text not null,
  -- The one spelling under which all URLs of the same repository are equal.
  url_key text not null,
  -- What the caller asked for; null follows the remote's own HEAD.
  requested_branch text,
  default_branch text,
  status text not null check (status in ('checking', 'ready', 'error')),
  error text,
  head_commit text,
  -- What the last check read from the tree of head_commit.
  configuration jsonb not null default '{}',
  skills jsonb not null default '[]',
  -- Checks are numbered as they are asked for. One that has ended settles every number asked for before it began,
  -- so who asked knows when the answer is newer than the question, and a late report of an older check is dropped.
  checks_requested integer not null default 0,
  checks_settled integer not null default 0,
  checked_at timestamptz(3),
  created_at timestamptz(3) not null,
  updated_at timestamptz(3) not null,
  constraint repository_url_key unique (organization_id, url_key),
  constraint repository_name_key unique (organization_id, name)
);
create index repository_credential_id on repository (credential_id);
-- Whose check is due: the time of the last one, or of the start for a repository that never had one.
create index repository_check_due on repository (coalesce(checked_at, created_at));

create table repository_set (
  id uuid primary key,
  organization_id uuid not null references organization (id) on delete cascade,
  name text not null,
  description text,
  created_at timestamptz(3) not null,
  updated_at timestamptz(3) not null,
  constraint repository_set_name_key unique (organization_id, name)
);

create table repository_set_member (
  repository_set_id uuid not null references repository_set (id) on delete cascade,
  repository_id uuid not null references repository (id),
  position integer not null,
  primary key (repository_set_id, repository_id)
);
create index repository_set_member_repository on repository_set_member (repository_id);
