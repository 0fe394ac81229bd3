import type { SandboxSpec } from '../../src/runtime/driver.ts';
import { createFakeDriver, type FakeDriver } from '../../src/runtime/fake/driver.ts';
import { startWorld, type World } from './world.ts';

export type FakeWorld = {
  world: World;
  /** What makes sandboxes, in the hands of the test. */
  driver: FakeDriver;
  /** What sandboxes were made with, by their ids. */
  specs: Map<string, SandboxSpec>;
};

/** A whole service with sandboxes in which nothing runs but what the test says. */
export async function startFakeWorld(
  options: { environment?: Record<string, string> } = {},
): Promise<FakeWorld> {
  const specs = new Map<string, SandboxSpec>();
  const opened = Promise.withResolvers<FakeDriver>();
  const world = await startWorld({
    ...options,
    replaced: {
      openDriver: async ({ gatewayFolder }) => {
        const driver = createFakeDriver({ gatewayFolder });
        opened.resolve(driver);
        return {
          ...driver,
          create: (key, spec, signal) => {
            specs.set(key, spec);
            return driver.create(key, spec, signal);
          },
        };
      },
    },
  });
  return { world, driver: await opened.promise, specs };
}
