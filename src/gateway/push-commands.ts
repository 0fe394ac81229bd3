import { isBranchName } from '../git/refs.ts';
import { createPacketReader } from './pkt-line.ts';

/** One change that a push asks for. A commit of zeros stands for none. */
export type RefUpdate = { ref: string; oldCommit: string; newCommit: string };

export type PushCommands = {
  read(chunk: Buffer): void;
  /** At most `maxCommands`, in the order in which they came. */
  updates(): RefUpdate[];
  /** What the client says it can do. */
  hasCapability(name: string): boolean;
};

const command =
  /^([0-9a-f]{40}|[0-9a-f]{64}) ([0-9a-f]{40}|[0-9a-f]{64}) (refs\/[^\0\n]{1,1024})(?:\n|\0([^\n]*)\n?)?$/;

/** Listens to the body of a push, whose list of commands stands before the pack. */
export function createPushCommands({ maxCommands }: { maxCommands: number }): PushCommands {
  const updates: RefUpdate[] = [];
  let capabilities: string[] = [];
  let isListed = false;
  const read = createPacketReader((packet) => {
    if (isListed) return;
    if (packet === null) {
      isListed = true;
      return;
    }
    const [, oldCommit, newCommit, ref, words] = command.exec(packet.toString()) ?? [];
    if (words !== undefined && capabilities.length === 0) capabilities = words.split(' ').filter(Boolean);
    // What is no name of a ref is refused by the remote.
    if (oldCommit && newCommit && ref && isBranchName(ref) && updates.length < maxCommands) {
      updates.push({ ref, oldCommit, newCommit });
    }
  });

  return {
    read(chunk) {
      // What follows is the pack, which is nobody's business here.
      if (!isListed) read(chunk);
    },
    updates: () => updates,
    hasCapability: (name) => capabilities.includes(name),
  };
}
