/** What is kept: whole millionths, which add up exactly. */
export function toMicros(dollars: number): number {
  return Math.round(dollars * 1_000_000);
}

/** Divided once, they are as exact as a number can be. */
export function toDollars(micros: number): number {
  return micros / 1_000_000;
}
