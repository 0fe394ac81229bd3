/** What a boot that has failed says to the user. Sentences of the parts are passed on; errors of the system become one. */
export function explainFailure(error: unknown): string {
  const { code, message, name } = error as NodeJS.ErrnoException;
  if (name === 'TimeoutError') return 'It took too long to prepare the workspace. Try again.';
  const known = systemErrors[code ?? ''];
  if (known) return known;
  if (typeof code === 'string')
    return `The workspace could not be prepared: the system answers ${code}. Try again.`;
  return message || 'The workspace could not be prepared for a reason that is not known. Try again.';
}

const full = 'The disk of the workspace is full. Choose a larger size, or let hooks leave less behind.';
const systemErrors: Readonly<Record<string, string>> = {
  ENOSPC: full,
  EDQUOT: full,
  EROFS: 'The disk of the workspace cannot be written. Delete the workspace and create it anew.',
  EIO: 'The disk of the workspace is damaged. Delete the workspace and create it anew.',
  EAGAIN:
    'The workspace has as many processes as it may have, so none could be started. Choose a larger size.',
  ENOMEM: 'The workspace has too little memory. Choose a larger size.',
  EMFILE: 'The workspace has too many files open.',
};
