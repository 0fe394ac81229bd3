import { createPacketReader, type Packet } from './pkt-line.ts';

export type PushReport = {
  read(chunk: Buffer): void;
  /** The refs that the remote says it has changed. */
  accepted(): ReadonlySet<string>;
};

const reportBand = 1;

/** Listens to the answer to a push, which says for each ref whether it was taken. */
export function createPushReport(options: { hasSideBand: boolean; maxRefs: number }): PushReport {
  const accepted = new Set<string>();
  const onLine = (packet: Packet) => {
    const [, ref] = /^ok ([^\0\n]{1,1024})\n?$/.exec(packet?.toString() ?? '') ?? [];
    if (ref && accepted.size < options.maxRefs) accepted.add(ref);
  };
  const readLines = createPacketReader(onLine);
  const readBands = createPacketReader((packet) => {
    if (packet?.[0] === reportBand) readLines(packet.subarray(1));
  });
  return { read: options.hasSideBand ? readBands : readLines, accepted: () => accepted };
}
