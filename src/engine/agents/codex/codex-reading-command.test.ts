import { describe, expect, test } from 'vitest';
import { isReadingCommand, shellScript } from './codex-reading-command.ts';

describe('only looks', () => {
  test.each([
    'ls',
    'ls -la src/*.ts; cat README.md',
    `/bin/bash -lc 'cat package.json | head -20'`,
    '/bin/bash -lc ls',
    `/bin/bash -lc "rg -n 'it''s' src"`,
    'rg -n "a|b" src 2>/dev/null | head -5',
    'grep -rn "foo(bar)" . 2>&1 | sort -u | uniq -c',
    "find . -name '*.ts' -not -path './node_modules/*'",
    "sed -n '1,200p' src/app.ts",
    'git status --short && git log --oneline -5',
    'git -C repo diff HEAD~1 -- src',
    'wc -l a.txt\npwd',
    'cat a\\ b.txt >/dev/null',
    "grep -c '$HOME > x' notes.txt",
    'cat v2>/dev/null',
    'git log --oneline | sort -t: -k2,2',
  ])('%s', (command) => {
    expect(isReadingCommand(command)).toBe(true);
  });
});

describe('may change something', () => {
  test.each([
    '',
    'touch a',
    'echo hi > a.txt',
    'echo hi >> a.txt',
    'echo hi 2>&1>a',
    'echo hi >/dev/nullx',
    'cat <<EOF > a\nx\nEOF',
    `/bin/bash -lc 'echo hi > a.txt'`,
    `/bin/bash -lc "echo 'x' > a.txt"`,
    `bash -lc "bash -lc 'touch a'"`,
    'bash -c ls extra',
    'ls $(touch a)',
    'ls `touch a`',
    'ls "$(touch a)"',
    'ls & touch a',
    '(ls)',
    'ls | tee a',
    'ls | xargs rm',
    'ls && rm a',
    'ls\ntouch a',
    'A=b ls',
    './ls',
    'l?',
    'find . -delete',
    "find . -name a -exec rm '{}' +",
    'find *',
    'rg --pre=./run.sh x',
    'sed -i s/a/b/ a.txt',
    "sed -n 'w out' a.txt",
    'sed -n 1p -i a.txt',
    'sort a -o b',
    'sort -no b a',
    'sort --compress-program=./x a',
    'uniq a b',
    'ls2>/dev/null',
    'find . "-del\\\nete"',
    "test -v 'a[$(touch b)]'",
    'git diff --outpu=a',
    'git commit -m x',
    'git diff --output=a',
    'git grep -Oless x',
    'git -c core.fsmonitor=./x status',
    'git branch new',
    'node -e 1',
    'ls {a,b}',
    "ls 'unclosed",
    'ls # comment',
  ])('%s', (command) => {
    expect(isReadingCommand(command)).toBe(false);
  });
});

test.each([
  [`/bin/bash -lc 'echo hi > a.txt'`, 'echo hi > a.txt'],
  [`/bin/zsh -c "echo \\"\\$HOME\\""`, 'echo "$HOME"'],
  ['python3 run.py', 'python3 run.py'],
  ['bash -lc ls; rm a', 'bash -lc ls; rm a'],
])('the script of %s', (command, script) => {
  expect(shellScript(command)).toBe(script);
});
