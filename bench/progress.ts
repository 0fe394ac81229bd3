/** Says what is being done, beside the table that is for reading or for a file. */
export function progress(line: string): void {
  process.stderr.write(`${line}\n`);
}
