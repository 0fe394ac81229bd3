const CHARACTERS_PER_TOKEN = 4;
/** A run of letters and digits of this length is the content of a file, most often of an image. */
const FILE_CHARACTERS = 2_000;
const TOKENS_PER_FILE = 1_500;

export function countTextTokens(text: string): number {
  return Math.ceil(text.length / CHARACTERS_PER_TOKEN);
}

/** About as many tokens as a real model would count in a request; the same for the same request. */
export function countRequestTokens(body: Buffer): number {
  let files = 0;
  let fileBytes = 0;
  let runStart = 0;
  for (let at = 0; at <= body.length; at += 1) {
    if (isBase64(body[at])) continue;
    if (at - runStart >= FILE_CHARACTERS) {
      files += 1;
      fileBytes += at - runStart;
    }
    runStart = at + 1;
  }
  return Math.max(1, Math.ceil((body.length - fileBytes) / CHARACTERS_PER_TOKEN) + files * TOKENS_PER_FILE);
}

function isBase64(byte: number | undefined): boolean {
  if (byte === undefined) return false;
  const isLetter = (byte | 0x20) >= 0x61 && (byte | 0x20) <= 0x7a;
  const isDigit = byte >= 0x30 && byte <= 0x39;
  return isLetter || isDigit || byte === 0x2b || byte === 0x2f || byte === 0x3d;
}
