import pg from 'pg';

/** The constraint a statement ran into, or null when the error is another one. */
export function violatedConstraint(error: unknown): string | null {
  const isViolation = error instanceof pg.DatabaseError && error.code?.startsWith('23');
  return isViolation ? (error.constraint ?? null) : null;
}

/** Runs `change`; a violation of a named constraint becomes the error that `refusals` makes of it. */
export async function refusing<T>(
  refusals: Record<string, () => Error>,
  change: () => Promise<T>,
): Promise<T> {
  try {
    return await change();
  } catch (error) {
    const refusal = refusals[violatedConstraint(error) ?? ''];
    throw refusal ? refusal() : error;
  }
}
