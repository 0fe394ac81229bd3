/** What a person's JWT is: signed by one who knows the private key, checked by everyone with the public one. */
export const accessTokenAlgorithm = 'EdDSA';
export const accessTokenSeconds = 15 * 60;

/** How long a signing key that was followed by another still checks tokens; longer than any of them lives. */
export const signingKeyGraceSeconds = 24 * 60 * 60;
