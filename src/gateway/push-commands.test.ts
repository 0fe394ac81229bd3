import { describe, expect, test } from 'vitest';
import { flushPacket, writePacket } from './pkt-line.ts';
import { createPushCommands } from './push-commands.ts';

const none = '0'.repeat(40);
const a = 'a'.repeat(40);
const b = 'b'.repeat(40);

function commandsOf(body: Buffer, maxCommands = 10) {
  const commands = createPushCommands({ maxCommands });
  for (const byte of body) commands.read(Buffer.from([byte]));
  return commands;
}

describe('createPushCommands', () => {
  test('every command is heard, with what the client can do', () => {
    const commands = commandsOf(
      Buffer.concat([
        writePacket(`${a} ${b} refs/heads/main\0 report-status side-band-64k object-format=sha1`),
        writePacket(`${none} ${b} refs/heads/new/ü\n`),
        writePacket(`${a} ${none} refs/tags/gone`),
        flushPacket,
        Buffer.from('PACK…'),
      ]),
    );
    expect(commands.updates()).toEqual([
      { ref: 'refs/heads/main', oldCommit: a, newCommit: b },
      { ref: 'refs/heads/new/ü', oldCommit: none, newCommit: b },
      { ref: 'refs/tags/gone', oldCommit: a, newCommit: none },
    ]);
    expect([commands.hasCapability('side-band-64k'), commands.hasCapability('atomic')]).toEqual([
      true,
      false,
    ]);
  });

  test.each([
    ['an empty list, as git sends it to try a connection', flushPacket],
    ['a shallow line', Buffer.concat([writePacket(`shallow ${a}`), flushPacket])],
    ['a name outside of refs/', Buffer.concat([writePacket(`${a} ${b} HEAD`), flushPacket])],
    ['a name that is none', Buffer.concat([writePacket(`${a} ${b} refs/heads/a..b`), flushPacket])],
    ['no protocol at all', Buffer.from('<html>not git</html>')],
    ['a command after the list', Buffer.concat([flushPacket, writePacket(`${a} ${b} refs/heads/x`)])],
  ])('%s is no update', (_, body) => {
    expect(commandsOf(body).updates()).toEqual([]);
  });

  test('no more commands are kept than asked for', () => {
    const lines = Array.from({ length: 50 }, (_, index) => writePacket(`${a} ${b} refs/heads/${index}`));
    expect(commandsOf(Buffer.concat(lines), 7).updates()).toHaveLength(7);
  });
});
