import { writeSync } from 'node:fs';

const MAX_CHARACTERS = 2_000;

/**
 * Lines on standard error, which the driver may keep. Written straight to the descriptor: the stream of it would take
 * memory, and would end this process when whoever reads it is gone.
 */
export function createLog(secret: string): (line: string) => void {
  return (line) => {
    const clean = line
      .replaceAll(secret, '[secret]')
      .replace(/[\r\n]+/g, ' | ')
      .slice(0, MAX_CHARACTERS);
    try {
      writeSync(2, `engine: ${clean}\n`);
    } catch {
      // Nobody reads it, or reads it too slowly: the line is lost and the engine goes on.
    }
  };
}
