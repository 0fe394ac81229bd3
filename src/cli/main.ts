#!/usr/bin/env node
import { enableCompileCache } from 'node:module';
import path from 'node:path';

// Must come before anything else is loaded: what was compiled once is read back on the next start.
enableCompileCache(path.resolve(import.meta.dirname, '../../node_modules/.cache/compile'));
const { run } = await import('./program.ts');
await run();
