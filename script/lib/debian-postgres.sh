# Sourced by script/test. Needs env.sh. A throw-away cluster of Debian's PostgreSQL in a temporary folder, on a unix
# socket; the cluster that the Debian package makes for itself is left alone.

debian_postgres_folder=''
debian_postgres_url=''

# Prints the newest installed server's folder of programs; fails when there is none.
find_debian_postgres() {
  local folder
  folder="$(printf '%s\n' /usr/lib/postgresql/*/bin | sort -t/ -k5,5Vr | head -n 1)"
  [ -x "$folder/postgres" ] && printf '%s\n' "$folder"
}

# Sets debian_postgres_url, for a superuser. Data that a test run loses is no loss, so nothing waits for the disk.
start_debian_postgres() {
  local bin
  bin="$(find_debian_postgres)" || fail "Debian's PostgreSQL server is missing: install the package postgresql"
  debian_postgres_folder="$(mktemp -d "${TMPDIR:-/tmp}/replica-debian-pg.XXXXXX")"
  if [ "$(id -u)" = 0 ]; then chown "$(debian_postgres_user)" "$debian_postgres_folder"; fi
  debian_postgres_run "$bin/initdb" --pgdata=data --username=postgres --auth=trust --encoding=UTF8 --locale=C.UTF-8 \
    --no-sync --no-instructions >/dev/null
  debian_postgres_run "$bin/pg_ctl" start --wait --silent --pgdata=data --log=log --options="-k $debian_postgres_folder \
    -c listen_addresses= -c fsync=off -c synchronous_commit=off -c full_page_writes=off -c max_connections=400" ||
    { cat "$debian_postgres_folder/log" >&2; fail "Debian's PostgreSQL does not start"; }
  debian_postgres_url="postgresql://postgres@/postgres?host=$debian_postgres_folder&port=5432&sslmode=disable"
}

# Stops and removes whatever start_debian_postgres has made, also when it failed half-way.
stop_debian_postgres() {
  [ -n "$debian_postgres_folder" ] || return 0
  if [ -e "$debian_postgres_folder/data/postmaster.pid" ]; then
    debian_postgres_run "$(find_debian_postgres)/pg_ctl" stop --wait --silent --mode=fast --pgdata=data || true
  fi
  rm -rf "$debian_postgres_folder"
  debian_postgres_folder=''
}

debian_postgres_user() { if id postgres >/dev/null 2>&1; then echo postgres; else echo nobody; fi; }

# Runs a program in the cluster's folder, as a user that PostgreSQL accepts and away from the terminal's Ctrl-C.
debian_postgres_run() (
  cd "$debian_postgres_folder"
  if [ "$(id -u)" != 0 ]; then exec setsid --wait "$@" </dev/null; fi
  user="$(debian_postgres_user)"
  exec setsid --wait setpriv --reuid="$user" --regid="$(id -g "$user")" --clear-groups "$@" </dev/null
)
