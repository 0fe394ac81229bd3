/**
 * Whether a command only looks, as far as that can be said beforehand. It is for plan mode: nobody can be asked, and a
 * command that is refused by mistake costs less than a change that nobody wanted. Whatever is not known to be harmless
 * is therefore taken for harmful.
 */
export function isReadingCommand(command: string): boolean {
  const commands = readCommands(shellScript(command));
  return commands !== null && commands.length > 0 && commands.every(isHarmless);
}

/** What a shell is given to run, of a command that begins with the shell itself. */
export function shellScript(command: string): string {
  const [words, ...others] = readCommands(command) ?? [];
  const [shell, option, script] = words ?? [];
  const isShell = words?.length === 3 && others.length === 0 && /(^|\/)(ba|da|z)?sh$/.test(shell?.text ?? '');
  return isShell && /^-l?c$/.test(option?.text ?? '') ? (script?.text ?? '') : command;
}

/** A word, and whether the shell may put names of files in its place. */
type Word = { text: string; isPattern: boolean };

/** The commands of a script; null when there is more in it than words, and separators between commands. */
function readCommands(script: string): Word[][] | null {
  const commands: Word[][] = [[]];
  let word: Word | null = null;
  for (let at = 0; at < script.length; ) {
    token.lastIndex = at;
    const { groups, 0: { length } = '' } = token.exec(script) ?? {};
    if (groups === undefined) return null;
    at += length;
    const { separator, single, double, escaped, plain } = groups;
    const text = single ?? double?.replace(/\\([\\"$`])/g, '$1') ?? escaped ?? plain;
    if (text === undefined) word = null;
    else if (word === null) {
      word = { text, isPattern: false };
      commands.at(-1)?.push(word);
    } else word.text += text;
    if (word !== null && plain !== undefined) word.isPattern ||= /[*?[]/.test(plain);
    if (separator !== undefined) commands.push([]);
  }
  return commands.filter((words) => words.length > 0);
}

/** Redirections are harmless when they lead to nothing, or from one output to the other. */
const token = new RegExp(
  [
    String.raw`(?<space>[ \t]+|\\\n)`,
    String.raw`(?<redirection>[12&]?>{1,2}[ \t]*\/dev\/null(?![^\s;|&])|[12]?>&[12](?![^\s;|&]))`,
    String.raw`(?<separator>&&|\|\||[;|\n])`,
    `'(?<single>[^']*)'`,
    '"(?<double>(?:[^"\\\\$`]|\\\\[^\\n])*)"',
    String.raw`\\(?<escaped>[^\n])`,
    '(?<plain>[^\\s;&|<>()$`\'"\\\\#{}!]+)',
  ].join('|'),
  'y',
);

function isHarmless([program, ...args]: Word[]): boolean {
  const name = program?.text ?? '';
  if (program?.isPattern) return false;
  if (alwaysHarmless.has(name)) return true;
  const judge = judges.get(name);
  // A file may be named like an option.
  if (judge === undefined || args.some(({ text, isPattern }) => isPattern && /^[*?[]/.test(text)))
    return false;
  return judge(args.map(({ text }) => text));
}

const alwaysHarmless = new Set([
  ...[
    'basename',
    'cat',
    'cd',
    'cmp',
    'cut',
    'diff',
    'dirname',
    'du',
    'echo',
    'egrep',
    'false',
    'fgrep',
    'grep',
  ],
  ...[
    'head',
    'id',
    'jq',
    'ls',
    'nl',
    'paste',
    'printenv',
    'pwd',
    'readlink',
    'realpath',
    'sha256sum',
    'stat',
  ],
  ...['strings', 'tail', 'tr', 'true', 'type', 'uname', 'wc', 'which', 'whoami'],
]);

/** Programs that only look unless an option says otherwise. */
const judges = new Map<string, (args: string[]) => boolean>([
  ['find', (args) => !args.some((arg) => /^-(exec|ok|delete|fprint|fls)/.test(arg))],
  ['git', isLookingAtHistory],
  ['rg', (args) => !args.some((arg) => /^--(pre(-glob)?|hostname-bin)(=|$)/.test(arg))],
  ['sed', ([option, lines, ...files]) => option === '-n' && isRange(lines) && !files.some(isOption)],
  ['sort', (args) => args.every((arg) => /^-([bcdfghinrsuMV]*|[kt].*)$/.test(arg) || !isOption(arg))],
  ['uniq', (args) => args.every((arg) => /^-[cdiu]+$/.test(arg))],
]);

const isOption = (arg: string) => arg.startsWith('-');
const isRange = (lines = '') => /^(\d+|\$)(,(\d+|\$))?p$/.test(lines);

function isLookingAtHistory(args: string[]): boolean {
  const [command = '', ...rest] = args[0] === '-C' ? args.slice(2) : args;
  return lookingAtHistory.has(command) && !rest.some((arg) => changing.test(arg));
}

/** Options that write a file or run a program; git also takes the beginning of one for the whole. */
const changing = /^(-O|--(ou|op|ext|tex|filters))/;

const lookingAtHistory = new Set([
  ...[
    'blame',
    'cat-file',
    'describe',
    'diff',
    'grep',
    'log',
    'ls-files',
    'ls-tree',
    'merge-base',
    'rev-list',
  ],
  ...['rev-parse', 'shortlog', 'show', 'status'],
]);
