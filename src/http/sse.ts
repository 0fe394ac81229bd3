/**
 * One piece of a stream of server-sent events. A comment says nothing; a stream that has no event yet sends one so
 * that the caller learns that it is open.
 */
export type SseFrame<Data = unknown> = { id?: string; event?: string; data: Data } | { comment: string };

/** A frame as it goes over the wire. JSON has no line breaks of its own, so the data are always one line. */
export function encodeFrame(frame: SseFrame): string {
  if ('comment' in frame) return `: ${oneLine(frame.comment)}\n\n`;
  const id = frame.id === undefined ? '' : `id: ${oneLine(frame.id)}\n`;
  const event = frame.event === undefined ? '' : `event: ${oneLine(frame.event)}\n`;
  return `${id}${event}data: ${JSON.stringify(frame.data)}\n\n`;
}

/** A line break would begin a field of its own, and an id with a NUL is passed over by readers. */
function oneLine(text: string): string {
  return text.replaceAll(/[\r\n\0]/g, ' ');
}
