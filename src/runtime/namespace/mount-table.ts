/** One line for `mount --all --fstab`: a whole root is put together by one program. */
export type Mount = { source: string; target: string; type: string; options: string };

/** The table in the format of fstab, in which order matters. */
export function mountTable(mounts: readonly Mount[]): string {
  return mounts
    .map(
      ({ source, target, type, options }) =>
        `${encodeOctal(source)} ${encodeOctal(target)} ${type} ${encodeOctal(options)} 0 0\n`,
    )
    .join('');
}

function encodeOctal(text: string): string {
  return text.replaceAll(
    /[\s\\#]/g,
    (character) => `\\${character.charCodeAt(0).toString(8).padStart(3, '0')}`,
  );
}
