/** Bubblewrap keeps it, outside and as the first process inside, so that both are found by it; the engine has it not. */
export const markVariable = 'REPLICA_MARK';

/**
 * What runs between our process and bubblewrap, in a mount namespace of the sandbox's own: every mount is gone with the
 * last process, however it ended. Lists come as lines of variables and the program to become as arguments.
 *
 * - It begins only once it is on record; when our process dies before, it reads the end of the file and leaves.
 * - It joins the groups first, so that even the helpers of the start are found and ended through them.
 * - Shares are settings of the user namespace that it is in: it gets none where that is the machine's own.
 * - A folder that the workspace has replaced by a link is not mounted on.
 * - From the moment the log is open, our process has no part in what follows.
 */
export const startScript = `set -euf
umask 022
IFS='
'
read -r go <&4 && [ "$go" = go ] || exit 0
exec 4<&-
for file in $REPLICA_GROUPS; do echo $$ >"$file"; done
echo 500 >/proc/self/oom_score_adj 2>/dev/null || :
ulimit -c 0
for share in $REPLICA_SHARES; do echo "\${share#*=}" >"/proc/sys/user/\${share%%=*}" 2>/dev/null || :; done
mount -i -a -T mounts
for target in $REPLICA_TARGETS; do
  if [ -L "stage/m$target" ]; then
    echo "The workspace has made $target a link, and a sandbox cannot be put together over a link: make the replica anew." >&2
    exit 1
  fi
done
umask 077
: >d/log
exec >>d/log 2>&1
cd /
umask 022
unset REPLICA_GROUPS REPLICA_SHARES REPLICA_TARGETS OLDPWD
exec "$@"
`;

/** What the script says to the owner of a workspace. */
export const linkRefusal = /The workspace has made \S+ a link[^.]*\./;

export function scriptVariables({
  groups,
  shares,
  targets,
  mark,
}: {
  groups: readonly string[];
  shares: readonly string[];
  targets: readonly string[];
  mark: string;
}) {
  return {
    REPLICA_GROUPS: groups.join('\n'),
    REPLICA_SHARES: shares.join('\n'),
    REPLICA_TARGETS: targets.join('\n'),
    [markVariable]: mark,
  };
}
