/**
 * Makes one file of src/engine for the sandboxes: `node script/build-engine.ts`. Does nothing when the file was made of
 * the same sources.
 */
import { createHash } from 'node:crypto';
import { globSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { engineBundleFolder } from '../src/runtime/engine-bundle.ts';

const root = path.resolve(import.meta.dirname, '..');
const bundle = path.join(engineBundleFolder, 'engine.mjs');
const { version } = JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8'));

const stamp = `// ${hashSources()}\n`;
if (readStamp() !== stamp) writeBundle(stamp + useBuiltins(await bundleEngine()));

function hashSources(): string {
  const hash = createHash('sha256').update(version);
  const files = globSync(['src/engine/**/*.ts', 'src/lib/**/*.ts', 'script/build-engine.ts'], { cwd: root });
  for (const file of files.sort()) hash.update(`\0${file}\0`).update(readFileSync(path.join(root, file)));
  return hash.digest('hex');
}

function readStamp(): string {
  try {
    return readFileSync(bundle, 'utf8').slice(0, stamp.length);
  } catch {
    return '';
  }
}

async function bundleEngine(): Promise<string> {
  // Not needed when there is nothing to do, and takes longer to load than all the rest.
  const { rolldown } = await import('rolldown');
  const build = await rolldown({
    input: path.join(root, 'src/engine/main.ts'),
    platform: 'node',
    // A package would have to be trusted inside every sandbox, and be paid for in memory.
    external: /^node:/,
    transform: { define: { 'process.env.REPLICA_ENGINE_VERSION': JSON.stringify(version) } },
  });
  const { output } = await build.generate({ format: 'esm', comments: false });
  await build.close();
  const [{ code }, ...others] = output;
  if (others.length > 0) throw new Error('The engine must be one file: a dynamic import splits it.');
  return code;
}

/**
 * Importing a module of Node's own reads all it exports, and loads what stands behind each of them: node:http brings a
 * second HTTP client, node:fs all streams. Asked for by name it brings only itself, which saves every sandbox 40 ms at its
 * start and 8 MB. Cryptography is heavy in itself, and comes when it is first used.
 */
function useBuiltins(code: string): string {
  const statement = /^import (?:([\w$]+))?(?:, )?(?:\{ ([^}]+) \})? from "(node:[\w/]+)";$/gm;
  const replaced = code.replace(statement, (_, whole: string | undefined, names = '', module: string) => {
    const builtin = `process.getBuiltinModule("${module}")`;
    const pairs = String(names)
      .split(', ')
      .filter(Boolean)
      .map((name) => name.split(' as '));
    if (module === 'node:crypto' && !whole) {
      return pairs
        .map(([name, own = name]) => `const ${own} = (...values) => ${builtin}.${name}(...values);`)
        .join('\n');
    }
    const parts = pairs.map((pair) => pair.join(': ')).join(', ');
    return [whole && `const ${whole} = ${builtin};`, parts && `const { ${parts} } = ${builtin};`]
      .filter(Boolean)
      .join('\n');
  });
  const left = /^import .*/m.exec(replaced);
  if (left) throw new Error(`The engine imports in a way that is not known here: ${left[0]}`);
  return replaced;
}

/** Whole or not at all: several may build at once, and sandboxes may be starting. */
function writeBundle(code: string): void {
  mkdirSync(engineBundleFolder, { recursive: true });
  const draft = `${bundle}.${process.pid}.tmp`;
  writeFileSync(draft, code);
  renameSync(draft, bundle);
}
