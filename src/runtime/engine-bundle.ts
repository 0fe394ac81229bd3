import { existsSync } from 'node:fs';
import path from 'node:path';

/** Where `script/build-engine.ts` puts what it makes. */
export const engineBundleFolder = path.resolve(
  import.meta.dirname,
  '../../node_modules/.cache/replica-engine',
);

export type EngineBundle = {
  /** The engine as one file, which drivers bring into sandboxes. */
  bundle: string;
  /** None: V8 compiles so little of the bundle at a start that a cache of it saves nothing that can be measured. */
  compileCache: null;
  /**
   * For the engine's process. The youngest objects get 1 MiB in place of 16, which a burst of output would fill, and
   * leave filled.
   */
  environment: { NODE_OPTIONS: string };
};

export function engineBundle(): EngineBundle {
  const bundle = path.join(engineBundleFolder, 'engine.mjs');
  if (!existsSync(bundle)) throw new Error('The engine has not been built: run script/bootstrap.');
  return { bundle, compileCache: null, environment: { NODE_OPTIONS: '--max-semi-space-size=1' } };
}
