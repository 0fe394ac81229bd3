/** Prices of a minute, in millionths, by size; null is a replica whose size was not named. */
export function minuteRateMicros(size: string | null): number {
  if (size === 'small') return 8_000;
  if (size === 'large') return 16_000;
  return 16_600;
}

/** The minutes a stretch is billed for: whole ones, a begun one counts. A clock that went back bills nothing. */
export function billedMinutes(stretch: { startedAt: Date; endedAt: Date }): number {
  return Math.max(0, Math.ceil((stretch.endedAt.getTime() - stretch.startedAt.getTime()) / 60_000));
}
