/** `node script/write-spec-coverage.ts`: writes docs/spec-coverage.md from the rules and tests that test/spec names. */
import { writeFileSync } from 'node:fs';
import { createFindTest, pageFile, renderPage } from '../test/spec/coverage.ts';

writeFileSync(pageFile, renderPage(createFindTest()));
