import type { CursorModel } from '../../../src/engine/agents/cursor/cursor-sdk.ts';

const valued = (id: string, ...values: string[]) => ({ id, values: values.map((value) => ({ value })) });

/** Models of the kinds that there are: with all levels of effort, with a fast mode, and with nothing to set. */
export const models: CursorModel[] = [
  {
    id: 'auto-smart',
    displayName: 'Auto',
    parameters: [valued('context', '300k', '1m'), valued('effort', 'low', 'medium', 'high', 'xhigh', 'max')],
    variants: [
      {
        params: [
          { id: 'context', value: '300k' },
          { id: 'effort', value: 'high' },
        ],
        isDefault: true,
      },
    ],
  },
  { id: 'composer-2.5', displayName: 'Composer 2.5', parameters: [valued('fast', 'false', 'true')] },
  { id: 'plain-1', displayName: 'Plain 1', aliases: ['plain'] },
];
