import { describe, expect, test } from 'vitest';
import { opencodePrompt } from './opencode-prompt.ts';

const choice = { provider: 'router', model: 'maker/model', variant: 'high' };
const image = { mediaType: 'image/png', dataBase64: 'AAAA' } as const;
const file = { type: 'file', mime: 'image/png', url: 'data:image/png;base64,AAAA' };

function compose(
  message: string,
  given: { images?: [typeof image]; planMode?: boolean; variant?: null } = {},
) {
  const { images = [], planMode = false, ...rest } = given;
  return opencodePrompt({ message, images, planMode }, { ...choice, ...rest }, new Set(['init', 'mcp:ask']));
}

describe('a prompt', () => {
  test('has the message, the images, the model and how hard it thinks', () => {
    expect(compose('hello', { images: [image] })).toEqual({
      path: '/message',
      body: {
        agent: 'build',
        variant: 'high',
        model: { providerID: 'router', modelID: 'maker/model' },
        parts: [{ type: 'text', text: 'hello' }, file],
      },
    });
  });

  test('leaves it to the model how hard it thinks when there is no variant', () => {
    expect(compose('hello', { variant: null }).body).not.toHaveProperty('variant');
  });

  test('goes to the agent that plans in plan mode', () => {
    expect(compose('hello', { planMode: true }).body).toMatchObject({ agent: 'plan' });
  });

  test('is without a text when there are only images', () => {
    expect(compose('', { images: [image] }).body).toMatchObject({ parts: [file] });
  });

  test.each([
    ['/init', 'init', ''],
    ['/init  the docs\nonly', 'init', 'the docs\nonly'],
    ['/mcp:ask why', 'mcp:ask', 'why'],
  ])('%j is a command', (message, command, rest) => {
    expect(compose(message, { images: [image] })).toEqual({
      path: '/command',
      body: {
        agent: 'build',
        variant: 'high',
        command,
        arguments: rest,
        model: 'router/maker/model',
        parts: [file],
      },
    });
  });

  test.each(['/unknown x', '/', '/init/x', ' /init', '// init', '/etc/passwd is a file'])(
    '%j is a text',
    (message) => {
      expect(compose(message)).toMatchObject({ path: '/message', body: { parts: [{ text: message }] } });
    },
  );
});
