import { lstatSync, renameSync, rmSync } from 'node:fs';
import path from 'node:path';

/** What is set aside is somebody's mistake that may be worth a look; a mistake made at every start is not kept for ever. */
const MOST_KEPT = 9;

/**
 * Moves whatever stands in a place out of the way, without looking into it: to `<place>.aside-1`, or the next number that
 * is free. Returns where it is, or null when so much is kept already that it was removed.
 */
export function setAside(place: string, { beside = place } = {}): string | null {
  for (let number = 1; number <= MOST_KEPT; number += 1) {
    const aside = `${beside}.aside-${number}`;
    if (lstatSync(aside, { throwIfNoEntry: false })) continue;
    renameSync(place, aside);
    return aside;
  }
  rmSync(place, { recursive: true, force: true });
  return null;
}

/** A sentence for the user about where it is. */
export function describeAside(aside: string | null): string {
  return aside === null ? 'It was removed.' : `It is set aside as ${path.basename(aside)}.`;
}

/** Removes what nobody needs; folders too deep for that are moved out of the way. Says whether the place is free. */
export function discard(place: string, { beside = place } = {}): boolean {
  try {
    rmSync(place, { recursive: true, force: true });
    return true;
  } catch {
    return isSetAside(place, beside);
  }
}

function isSetAside(place: string, beside: string): boolean {
  try {
    setAside(place, { beside });
    return true;
  } catch {
    return false;
  }
}
