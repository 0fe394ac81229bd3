# Sourced by the scripts. Needs env.sh.

# need_packages NAME...: Debian packages that are missing are installed when we are root, and named when we are not.
need_packages() {
  local as_root=''
  command -v apt-get >/dev/null ||
    fail "install by hand what provides: $* (there is no apt-get here to do it with)"
  if [ "$(id -u)" != 0 ]; then
    command -v sudo >/dev/null && as_root='sudo '
    fail "missing Debian packages: $*. As root, run: ${as_root}apt-get update && ${as_root}apt-get install -y $*"
  fi
  say "Installing Debian packages: $*"
  export DEBIAN_FRONTEND=noninteractive
  # The lists of a fresh image are empty, and those of an old one name versions that are gone.
  apt-get update -qq </dev/null >&2
  apt-get install -y -qq --no-install-recommends "$@" </dev/null >&2
}
