-- People, organizations and their credentials. Tables up to login_attempt are written by better-auth.

create table person (
  id uuid primary key,
  name text not null,
  email text not null constraint person_email_key unique,
  email_verified boolean not null default false,
  image text,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now()
);

create table organization (
  id uuid primary key,
  name text not null,
  slug text not null constraint organization_slug_key unique,
  logo text,
  metadata text,
  created_at timestamptz(3) not null default now()
);

create table login_session (
  id uuid primary key,
  person_id uuid not null references person (id) on delete cascade,
  token text not null constraint login_session_token_key unique,
  active_organization_id uuid references organization (id) on delete set null,
  ip_address text,
  user_agent text,
  expires_at timestamptz(3) not null,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now()
);
create index login_session_person on login_session (person_id);

create table login_account (
  id uuid primary key,
  person_id uuid not null references person (id) on delete cascade,
  account_id text not null,
  provider_id text not null,
  access_token text,
  refresh_token text,
  id_token text,
  access_token_expires_at timestamptz(3),
  refresh_token_expires_at timestamptz(3),
  scope text,
  password text,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now()
);
create index login_account_person on login_account (person_id);

create table login_verification (
  id uuid primary key,
  identifier text not null,
  value text not null,
  expires_at timestamptz(3) not null,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now()
);
create index login_verification_identifier on login_verification (identifier);

create table member (
  id uuid primary key,
  organization_id uuid not null references organization (id) on delete cascade,
  person_id uuid not null references person (id) on delete cascade,
  role text not null check (role in ('admin', 'member')),
  created_at timestamptz(3) not null default now(),
  constraint member_person_key unique (organization_id, person_id)
);
create index member_person on member (person_id);

-- The id is the secret that lets the invited person in, so it is random (version 4).
create table invitation (
  id uuid primary key,
  organization_id uuid not null references organization (id) on delete cascade,
  email text not null,
  role text not null check (role in ('admin', 'member')),
  status text not null,
  expires_at timestamptz(3) not null,
  inviter_id uuid not null references person (id) on delete cascade,
  created_at timestamptz(3) not null default now()
);
create index invitation_organization on invitation (organization_id);
create unique index invitation_pending_key on invitation (organization_id, email) where status = 'pending';

create table signing_key (
  id uuid primary key,
  public_key text not null,
  private_key text not null,
  alg text,
  crv text,
  expires_at timestamptz(3),
  created_at timestamptz(3) not null default now()
);

create table device_code (
  id uuid primary key,
  device_code text not null constraint device_code_device_code_key unique,
  user_code text not null constraint device_code_user_code_key unique,
  person_id uuid references person (id) on delete cascade,
  status text not null,
  client_id text,
  scope text,
  polling_interval integer,
  last_polled_at timestamptz(3),
  expires_at timestamptz(3) not null
);

-- Counts of requests by address and path. The time is in milliseconds; a double comes back as a number.
create table login_attempt (
  id uuid primary key,
  key text not null constraint login_attempt_key_key unique,
  count integer not null,
  last_request double precision not null
);

create table api_key (
  id uuid primary key,
  organization_id uuid not null references organization (id) on delete cascade,
  -- The owner of a personal key; null for an org key.
  person_id uuid references person (id) on delete cascade,
  created_by uuid references person (id) on delete set null,
  name text not null,
  prefix text not null,
  hash bytea not null constraint api_key_hash_key unique,
  created_at timestamptz(3) not null,
  last_used_at timestamptz(3)
);
create index api_key_organization on api_key (organization_id, created_at);
create index api_key_person on api_key (person_id, created_at);

-- Every change that takes a right away. Processes read what is new here a few times a second and drop
-- what they remember about the key or the member, so that no request needs to ask. A reader that keeps the
-- oldest running transaction of its last look finds every row committed since by transaction_id, however
-- long that transaction ran.
create table credential_change (
  id bigint generated always as identity primary key,
  organization_id uuid not null,
  key_hash bytea,
  person_id uuid,
  transaction_id xid8 not null default pg_current_xact_id(),
  changed_at timestamptz(3) not null default clock_timestamp()
);
create index credential_change_transaction_id on credential_change (transaction_id);

create function note_api_key_change() returns trigger language plpgsql as $$
begin
  insert into credential_change (organization_id, key_hash) values (old.organization_id, old.hash);
  return null;
end $$;
create trigger api_key_removed after delete on api_key for each row execute function note_api_key_change();

-- Personal keys end with the membership they speak for, whichever way it ends.
create function note_member_change() returns trigger language plpgsql as $$
begin
  insert into credential_change (organization_id, person_id) values (old.organization_id, old.person_id);
  if tg_op = 'DELETE' then
    delete from api_key where organization_id = old.organization_id and person_id = old.person_id;
  end if;
  return null;
end $$;
create trigger member_changed after update or delete on member for each row execute function note_member_change();
