import { codexSettings, cursorModel, opencodeModel, thinkingLevel, turnRequest } from '../files.ts';
import type { Rule } from '../rule.ts';

const named = [
  ...thinkingLevel('the level %s is %s for claude, %s for codex and %s for cursor'),
  ...codexSettings('a message with %o'),
  ...cursorModel('the effort of %s at the level %s is %s'),
  ...opencodeModel('the choice of a model > of %s at level %s takes the variant %s'),
];

export const thinkingLevelRules: Rule[] = [
  {
    id: 'thinking.low',
    says: '`low` is low for each agent, as far as a model of opencode has it.',
    proof: named,
  },
  {
    id: 'thinking.medium',
    says: '`medium` is medium for each agent, as far as a model of opencode has it.',
    proof: named,
  },
  {
    id: 'thinking.high',
    says: '`high` is high for each agent, as far as a model of opencode has it.',
    proof: named,
  },
  {
    id: 'thinking.max',
    says: '`max` is max for claude and cursor, xhigh for codex, and the strongest that a model of opencode has.',
    proof: named,
  },
  {
    id: 'thinking.usual',
    says: 'Where no level is given, claude thinks at high and the others at medium.',
    proof: [
      ...thinkingLevel('where no level is given, %s thinks at the level %s'),
      ...turnRequest(
        'what the engine is told of a message > has the usual level and the key only for who needs it: %s',
      ),
    ],
  },
  {
    id: 'thinking.no-variant',
    says: 'A model of opencode without a fitting variant thinks as it is set by its provider.',
    proof: opencodeModel('the choice of a model > of %s at level %s takes the variant %s'),
  },
];
