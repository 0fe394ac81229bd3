import { describe, expect, test } from 'vitest';
import { codexLaunch } from './codex-launch.ts';

const spec = {
  programs: '/programs',
  environment: { HOME: '/home/replica', PATH: '/bin' },
  modelUrl: 'http://127.0.0.1:4100/model/codex/chat',
  modelKey: 'engine-secret',
};

describe('the program', () => {
  test.each([
    ['arm64', 'codex-linux-arm64/vendor/aarch64-unknown-linux-musl/bin/codex'],
    ['x64', 'codex-linux-x64/vendor/x86_64-unknown-linux-musl/bin/codex'],
  ])('on %s', (arch, program) => {
    expect(codexLaunch(spec, arch).program).toBe(`/programs/node_modules/@openai/${program}`);
  });
});

test('the model API is the one of the gateway', () => {
  expect(codexLaunch(spec).args).toContain(
    'model_providers.replica.base_url="http://127.0.0.1:4100/model/codex/chat/v1"',
  );
});

test('the key is in the environment and not in the arguments', () => {
  const { args, environment } = codexLaunch(spec);
  expect(args.join(' ')).not.toContain(spec.modelKey);
  expect(environment).toMatchObject({ ...spec.environment, REPLICA_MODEL_KEY: spec.modelKey });
  expect(args).toContain('model_providers.replica.env_key="REPLICA_MODEL_KEY"');
});
