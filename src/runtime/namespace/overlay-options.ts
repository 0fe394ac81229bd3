/** What `lowerdir` names stand for; short and relative, since the kernel takes one page of options. */
export const layerFolder = (index: number): string => `l${index}`;

/** Most layers a sandbox can stand on: the kernel's own limit is 500, with the base among them. */
export const maxLayers = 400;

/**
 * The options of a sandbox's root, relative to its folder: the layers (newest first) over the base, and its own disk
 * on top.
 */
export function overlayOptions({ layers, ordinaryUser }: { layers: number; ordinaryUser: boolean }): string {
  if (layers > maxLayers)
    throw new Error(`A sandbox can stand on ${maxLayers} layers, and this one would stand on ${layers}.`);
  const lowers = [...Array(layers).keys()].map((index) => `${layerFolder(index)}/u`);
  return [
    `lowerdir=${[...lowers, 'base'].join(':')}`,
    'upperdir=d/u',
    'workdir=d/w',
    'nodev',
    'nosuid',
    // Without redirects a folder of a layer cannot be renamed, and package managers do that. The kernel keeps its
    // marks in attributes that only a real root can write, so an ordinary user goes without.
    ordinaryUser ? 'userxattr' : 'redirect_dir=on',
    // Both would tie the disk to the very folders below it, and a base may be made anew.
    'index=off',
    ...(ordinaryUser ? [] : ['metacopy=off']),
  ].join(',');
}
