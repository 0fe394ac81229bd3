import { findNestedPath } from '../environment-file/path.ts';

/** The items of each environment, in the order of the ids: what is lower comes first. */
export function splitLayers<T extends { environment_id: string }>(
  items: readonly T[],
  environmentIds: readonly string[],
): T[][] {
  return environmentIds.map((id) => items.filter((item) => item.environment_id === id));
}

/** One item for each key: that of the highest layer which has one. */
export function layerBy<T>(layers: readonly (readonly T[])[], keyOf: (item: T) => string): T[] {
  return [...new Map(layers.flat().map((item) => [keyOf(item), item])).values()];
}

/**
 * One file for each path. A file below a path that is itself a file of a higher layer, or the other way round, cannot
 * exist beside it and gives way.
 */
export function layerFiles<T extends { path: string }>(
  layers: readonly (readonly T[])[],
): { files: T[]; problems: string[] } {
  const files: T[] = [];
  const problems: string[] = [];
  for (const layer of layers.toReversed()) {
    const above = files.map(({ path }) => path);
    for (const file of layer.filter(({ path }) => !above.includes(path))) {
      const nested = findNestedPath(file.path, above);
      if (nested === null) files.push(file);
      else problems.push(describeNesting(file.path, nested));
    }
  }
  return { files: files.sort((a, b) => (a.path < b.path ? -1 : 1)), problems };
}

/** Prompts one after the other, with a blank line in between; null when there is none. */
export function joinPrompts(prompts: readonly (string | null)[]): string | null {
  const given = prompts.map((prompt) => prompt?.trim()).filter((prompt) => prompt);
  return given.length > 0 ? given.join('\n\n') : null;
}

function describeNesting(path: string, above: string): string {
  return `The file ${path} of the Global environment is left out, because ${above} of the environment cannot exist beside it.`;
}
