import { place } from '../../src/engine/place.ts';

/** A shell command that runs a script of Perl, whatever quotes are in it. Perl makes every system call by its number. */
export function perl(script: string): string {
  return `${decoded(script)} | perl`;
}

/** A shell command that runs a script of Node. */
export function node(script: string): string {
  return `${decoded(script)} | ${place.node} -`;
}

function decoded(script: string): string {
  return `echo ${Buffer.from(script).toString('base64')} | base64 -d`;
}

/** The rest of a shell command in a session of its own, which does not listen to polite signals. */
export function daemon(command: string): string {
  const quoted = command.replaceAll("'", `'\\''`);
  return `setsid bash -c 'trap "" TERM HUP INT QUIT; ${quoted}' </dev/null >/dev/null 2>&1 &`;
}
