import { Lexer, parseDocument } from 'yaml';

/**
 * Parses YAML that a stranger wrote. The time a document costs grows with its tokens, in places with their square, so
 * they are counted first, which is cheap. Whatever is wrong is thrown; a syntax error has `pos`.
 */
export function parseBoundedYaml(text: string, limits: { maxTokens: number; maxAliases: number }): unknown {
  let tokens = 0;
  for (const _ of new Lexer().lex(text)) {
    tokens += 1;
    if (tokens > limits.maxTokens) throw new Error('The document has too many parts.');
  }
  const document = parseDocument(text, {
    schema: 'core',
    stringKeys: true,
    prettyErrors: false,
    logLevel: 'error',
  });
  const problem = document.errors[0];
  if (problem) throw problem;
  return document.toJS({ maxAliasCount: limits.maxAliases });
}
