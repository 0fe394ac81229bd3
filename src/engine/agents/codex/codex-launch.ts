import path from 'node:path';
import type { SessionSpec } from '../agent.ts';

export type CodexLaunch = { program: string; args: string[]; environment: Record<string, string> };

/**
 * How codex is started. What comes with a secret, or may differ from one message to the next, is told to it later:
 * arguments can be read by everybody.
 */
export function codexLaunch(
  {
    programs,
    environment,
    modelUrl,
    modelKey,
  }: Pick<SessionSpec, 'programs' | 'environment' | 'modelUrl' | 'modelKey'>,
  arch: string = process.arch,
): CodexLaunch {
  const settings = { ...fixedSettings, 'model_providers.replica.base_url': `${modelUrl}/v1` };
  return {
    program: path.join(
      ...[programs, 'node_modules', '@openai', `codex-linux-${arch}`],
      ...['vendor', `${arch === 'arm64' ? 'aarch64' : 'x86_64'}-unknown-linux-musl`, 'bin', 'codex'],
    ),
    // A string, number or boolean in JSON is the same in TOML.
    args: [
      'app-server',
      ...Object.entries(settings).flatMap(([key, value]) => ['-c', `${key}=${JSON.stringify(value)}`]),
    ],
    environment: { ...environment, [KEY_VARIABLE]: modelKey },
  };
}

const KEY_VARIABLE = 'REPLICA_MODEL_KEY';

const fixedSettings: Record<string, string | number | boolean> = {
  model_provider: 'replica',
  'model_providers.replica.name': 'Replica',
  'model_providers.replica.env_key': KEY_VARIABLE,
  'model_providers.replica.wire_api': 'responses',
  // Every failure counts, also a refused key.
  'model_providers.replica.request_max_retries': 2,
  'model_providers.replica.stream_max_retries': 3,
  'features.unbounded_connection_retries': false,
  approval_policy: 'never',
  // The replica itself is the sandbox, and lets nobody make another one inside.
  sandbox_mode: 'danger-full-access',
  'shell_environment_policy.inherit': 'all',
  'shell_environment_policy.ignore_default_excludes': true,
  'analytics.enabled': false,
  'features.apps': false,
  'features.plugins': false,
  'features.remote_plugin': false,
  'features.plugin_discovery_prefetch': false,
};
