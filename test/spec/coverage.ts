import { readFileSync } from 'node:fs';
import path from 'node:path';
import { readTests, type StatedTest } from './read-tests.ts';
import type { Proof, Rule } from './rule.ts';
import { type Section, sections } from './sections.ts';

export const root = path.resolve(import.meta.dirname, '../..');
export const pageFile = path.join(root, 'docs/spec-coverage.md');

/** Tells of a named test what its file states of it; undefined when the file has no such test. */
export type FindTest = (proof: Proof) => StatedTest | undefined;

/** Reads each file once. */
export function createFindTest(): FindTest {
  const files = new Map<string, StatedTest[]>();
  return ({ file, test }) => {
    const known = files.get(file) ?? readTests(readFileSync(path.join(root, file), 'utf8'));
    files.set(file, known);
    return known.find(({ title }) => title === test);
  };
}

/** The page for people: what is promised, and the tests that prove it. */
export function renderPage(findTest: FindTest): string {
  const rules = sections.flatMap(({ rules }) => rules);
  const head = [
    '# What the specification promises, and what proves it',
    '',
    `${rules.length} rules of the specification, each with the tests that prove it. This page is made by`,
    '`node script/write-spec-coverage.ts`; `test/spec` fails when a rule has no test, when a test is gone or skipped, or',
    'when the page is out of date.',
    '',
    'A † stands at tests that run only where the machine allows it, most of them because they make real sandboxes.',
    'In titles, `%s` and the like stand for what the rows of a table of cases fill in.',
  ];
  const tables = sections.flatMap((section) => renderSection(section, findTest));
  return `${[...head, ...tables, '', ...renderLinks(rules)].join('\n')}\n`;
}

function renderSection({ title, rules }: Section, findTest: FindTest): string[] {
  const rows = rules.map((rule) => `| ${cell(rule.says)} | ${renderProof(rule, findTest)} |`);
  return ['', `## ${title}`, '', '| rule | proof |', '|---|---|', ...rows];
}

/** The titles under the file that they are in. */
function renderProof({ proof }: Rule, findTest: FindTest): string {
  const byFile = Object.entries(Object.groupBy(proof, ({ file }) => file));
  return byFile
    .map(([file, proofs = []]) => {
      const titles = proofs.map(
        (each) => `“${literal(each.test)}”${findTest(each)?.isConditional ? '†' : ''}`,
      );
      return `[${file}]: ${titles.join(', ')}`;
    })
    .join('<br>');
}

/** What leads from the names of files to the files. */
function renderLinks(rules: readonly Rule[]): string[] {
  const files = new Set(rules.flatMap(({ proof }) => proof.map(({ file }) => file)));
  return [...files].toSorted().map((file) => `[${file}]: ../${file}`);
}

/** Text that stands in a cell as it is written. */
function literal(text: string): string {
  return cell(text.replaceAll(/[<*`\\]/g, '\\$&'));
}

function cell(text: string): string {
  return text.replaceAll('|', '\\|');
}
