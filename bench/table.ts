/** One line of what a bench prints. A note stands below the table, and says what exactly was measured. */
export type TableRow = { what: string; goal?: string; measured: string; note?: string };

/** Writes the rows to the standard output under each other, and then their notes, each once. */
export function printTable(rows: readonly TableRow[]): void {
  const lines = [
    ['what', 'goal', 'measured'],
    ...rows.map(({ what, goal = '', measured }) => [what, goal, measured]),
  ];
  const widths = [0, 1].map((column) => Math.max(...lines.map((cells) => cells[column]?.length ?? 0)) + 2);
  console.log();
  for (const cells of lines) {
    console.log(
      cells
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('')
        .trimEnd(),
    );
  }
  for (const note of new Set(rows.flatMap((row) => row.note ?? []))) console.log(`\n${note}`);
}
