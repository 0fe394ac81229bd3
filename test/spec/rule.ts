/** A test by its file and its titles, as `readTests` gives them. */
export type Proof = { file: string; test: string };

/** One row or sentence of the specification that promises something, in our words. */
export type Rule = { id: string; says: string; proof: Proof[] };

/** Names tests of one file. */
export function inFile(file: string): (...tests: string[]) => Proof[] {
  return (...tests) => tests.map((test) => ({ file, test }));
}
