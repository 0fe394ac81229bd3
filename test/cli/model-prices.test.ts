import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { ServiceFolder } from '../world/service-process.ts';

test('a start with wrong prices of models ends with one line that says what is wrong', async () => {
  const folder = await ServiceFolder.create();
  try {
    const file = path.join(folder.dataDir, 'prices.json');
    writeFileSync(file, '{"gpt-5":{"input":"cheap","output":1}}');
    folder.environment.REPLICA_MODEL_PRICES = file;
    const { code, stdout, stderr } = await folder.run(['serve']);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr.trim().split('\n').at(-1)).toMatch(
      /^replica: REPLICA_MODEL_PRICES is wrong: gpt-5\.input: /,
    );
  } finally {
    await folder.remove();
  }
});
