import { describe, expect, test } from 'vitest';
import { codexGoal, codexInput } from './codex-input.ts';

const image = { mediaType: 'image/png', dataBase64: 'aGk=' } as const;
const commands = [{ command: 'review', description: '', argumentHint: null }];

describe('the input', () => {
  test('is the message and its images', () => {
    expect(codexInput({ message: 'Look.', images: [image] }, [])).toEqual([
      { type: 'text', text: 'Look.', text_elements: [] },
      { type: 'image', url: 'data:image/png;base64,aGk=' },
    ]);
  });

  test.each([
    ['/review the last commit', '$review the last commit'],
    ['/review', '$review'],
    ['/reviews', '/reviews'],
    ['see /review', 'see /review'],
    ['/etc/passwd is a file', '/etc/passwd is a file'],
  ])('calls a skill as codex does: %s', (message, text) => {
    expect(codexInput({ message, images: [] }, commands)).toMatchObject([{ text }]);
  });
});

describe('the goal', () => {
  test('is the message', () => {
    expect(codexGoal({ message: 'All tests pass.', images: [] })).toEqual({
      objective: 'All tests pass.',
      items: [],
    });
  });

  test('comes after a message with its images', () => {
    expect(codexGoal({ message: 'Look so.', images: [image] })).toEqual({
      objective: 'Look so.',
      items: [
        {
          type: 'message',
          role: 'user',
          content: [
            { type: 'input_text', text: 'Look so.' },
            { type: 'input_image', image_url: 'data:image/png;base64,aGk=' },
          ],
        },
      ],
    });
  });

  test('is the beginning of a message that is too long, and comes after it', () => {
    const message = '😀'.repeat(5_000);
    const { objective, items } = codexGoal({ message, images: [] });
    expect([...objective]).toHaveLength(4_000);
    expect(objective).toMatch(/^(😀)+… \(the whole of it is in the message before\)$/u);
    expect(items).toMatchObject([{ content: [{ text: message }] }]);
  });
});
