import { z } from 'zod';

const MAX_WORDS = 1_000;
const MAX_WORD_CHARACTERS = 1_000;
const MAX_DELAY_MS = 5_000;
const MAX_HANG_MS = 600_000;

const tokens = z.int().min(0).max(1_000_000_000).default(0);

const usage = z.strictObject({
  /** What is neither read from the cache nor written to it. */
  inputTokens: tokens,
  outputTokens: tokens,
  cacheReadTokens: tokens,
  cacheWriteTokens: tokens,
  /** The part of the output that was thought; only OpenAI's APIs tell it. */
  reasoningTokens: tokens,
});

const error = z.strictObject({
  status: z.int().min(400).max(599),
  type: z.string().default('scripted_error'),
  code: z.string().optional(),
  message: z.string().default('This error is a step of the script.'),
});

const step = z
  .strictObject({
    /** A command for the agent's shell. */
    shell: z.string().optional(),
    /** A path and the content to write there. */
    write: z.tuple([z.string(), z.string()]).optional(),
    /** The name of any tool, with `args`, or with `input` where the tool takes plain text (`custom`). */
    tool: z.string().min(1).optional(),
    args: z.record(z.string(), z.unknown()).optional(),
    namespace: z.string().optional(),
    custom: z.boolean().optional(),
    input: z.string().optional(),
    /** What is said; before the tool is called where there is one, and once per word where `slow` is set. */
    text: z.string().optional(),
    think: z.string().optional(),
    /** How many words are said. */
    slow: z.int().min(1).max(MAX_WORDS).optional(),
    /** Milliseconds between two pieces of the text. */
    delay: z.number().min(0).max(MAX_DELAY_MS).optional(),
    error: error.optional(),
    /** Breaks the connection off after the text. */
    drop: z.boolean().optional(),
    /** Milliseconds of silence before the answer begins. */
    hang: z.number().min(0).max(MAX_HANG_MS).optional(),
    usage: usage.optional(),
  })
  .refine(
    ({ shell, write, tool }) => [shell, write, tool].filter((value) => value !== undefined).length <= 1,
    'only one of shell, write and tool can be in one step',
  )
  .refine(
    ({ slow, text }) => slow === undefined || (text ?? '').length <= MAX_WORD_CHARACTERS,
    `the word of a slow step has at most ${MAX_WORD_CHARACTERS} characters`,
  );

export type Usage = z.output<typeof usage>;
export type Step = z.output<typeof step>;

export const script = z.array(step);
