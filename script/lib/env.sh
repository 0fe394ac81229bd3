# Sourced by the scripts. Sets `root` to the project's folder and puts the project's Node 24 and tools first on PATH.
root="$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd -P)"
# npm ci removes the programs of the project, so it runs with those of the machine.
machine_path="${PATH//"$root/node_modules/.bin:"/}"
export PATH="$root/node_modules/.bin:$machine_path"

# Prints the comment at the top of the calling script when the first argument asks for help.
help_if_asked() {
  case "${1:-}" in
    -h | --help)
      sed -n '2,/^[^#]/{ s/^# \{0,1\}//p; }' "$0"
      exit 0
      ;;
  esac
}

say() { printf '==> %s\n' "$*" >&2; }

fail() {
  printf 'error: %s\n' "$*" >&2
  exit 1
}

# Node runs the TypeScript files as they are from version 24 on.
need_node_24() {
  local version
  version="$(node --version 2>/dev/null || echo none)"
  case "$version" in
    v2[4-9].* | v[3-9][0-9].*) ;;
    *) fail "Node 24 or newer is needed and this is $version: npm has none for $(uname -sm), so install it from https://nodejs.org" ;;
  esac
}
