-- What the service keeps about itself and about requests.

create table service_setting (
  id uuid primary key,
  name text not null constraint service_setting_name_key unique,
  value bytea not null,
  created_at timestamptz(3) not null
);

-- Answers of POST requests that carried an Idempotency-Key, kept for a day.
create table idempotency_record (
  id uuid primary key,
  organization_id uuid not null references organization (id) on delete cascade,
  caller text not null,
  key text not null,
  path text not null,
  body_hash bytea not null,
  status integer,
  answer bytea,
  created_at timestamptz(3) not null,
  constraint idempotency_record_key unique (organization_id, caller, key, path)
);
create index idempotency_record_created_at on idempotency_record (created_at);
