import { type ESTree, parseSync, Visitor } from 'rolldown/utils';

/** A test as its file states it: the titles of the groups around it and its own, joined by ` > `. */
export type StatedTest = {
  title: string;
  /** It, or a group around it, never runs or is expected to fail. */
  isSkipped: boolean;
  /** It, or a group around it, runs only where the machine allows it. */
  isConditional: boolean;
};

type Stated = StatedTest & { kind: 'test' | 'describe' };

const kinds: Partial<Record<string, Stated['kind']>> = { test: 'test', it: 'test', describe: 'describe' };
const skipping = ['skip', 'todo', 'fails'];
const conditional = ['skipIf', 'runIf'];
/** Called before the call that has the title. */
const preparing = ['each', 'for', 'extend', ...conditional];

/**
 * The tests that a source states, read from its syntax tree, so that neither a comment nor a string looks like a test.
 * Where a part of a title is computed, an ellipsis stands for it; `%s` and `$name` of tables stand as they are written.
 */
export function readTests(text: string): StatedTest[] {
  const { program, errors } = parseSync('stated.test.ts', text);
  if (errors.length > 0) throw new Error(`tests cannot be read: ${errors[0]?.message}`);
  const names = namesOfVitest(program);
  const tests: StatedTest[] = [];
  const around: (Stated & { node: ESTree.CallExpression })[] = [];

  function stated(node: ESTree.CallExpression): Stated | null {
    const [title] = node.arguments;
    const chain = chainOf(node.callee);
    const kind = chain && kinds[names.get(chain.name) ?? ''];
    const last = node.callee.type === 'MemberExpression' ? chain?.members.at(-1) : undefined;
    if (!title || !kind || preparing.includes(last ?? '')) return null;
    const outer = around.at(-1);
    return {
      kind,
      title: outer ? `${outer.title} > ${titleOf(title)}` : titleOf(title),
      isSkipped: chain.members.some((member) => skipping.includes(member)) || outer?.isSkipped === true,
      isConditional:
        chain.members.some((member) => conditional.includes(member)) || outer?.isConditional === true,
    };
  }

  new Visitor({
    CallExpression(node) {
      const found = stated(node);
      if (found?.kind === 'describe') around.push({ ...found, node });
      else if (found) tests.push(found);
    },
    'CallExpression:exit'(node) {
      if (around.at(-1)?.node === node) around.pop();
    },
  }).visit(program);
  return tests;
}

/** What the file imports of vitest: the name it uses → the name vitest has for it. */
function namesOfVitest(program: ESTree.Program): Map<string, string> {
  const specifiers = program.body.flatMap((node) =>
    node.type === 'ImportDeclaration' && node.source.value === 'vitest' ? node.specifiers : [],
  );
  return new Map(
    specifiers.flatMap((node) =>
      node.type === 'ImportSpecifier' && node.imported.type === 'Identifier'
        ? [[node.local.name, node.imported.name]]
        : [],
    ),
  );
}

/** `test.skipIf(x).each(y)` → `test` with the members `skipIf` and `each`. */
function chainOf(node: ESTree.Expression): { name: string; members: string[] } | null {
  if (node.type === 'Identifier') return { name: node.name, members: [] };
  if (node.type === 'CallExpression') return chainOf(node.callee);
  if (node.type !== 'MemberExpression' || node.property.type !== 'Identifier') return null;
  const chain = chainOf(node.object);
  return chain && { ...chain, members: [...chain.members, node.property.name] };
}

function titleOf(node: ESTree.Argument): string {
  if (node.type === 'Literal' && typeof node.value === 'string') return node.value;
  return node.type === 'TemplateLiteral' ? node.quasis.map(({ value }) => value.cooked).join('…') : '…';
}
