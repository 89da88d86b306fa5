import { availableParallelism } from "node:os"
import { configDefaults, defineConfig } from "vitest/config"

// Not `module`: what stands there is made for bundlers, and Node cannot always load it.
const conditions = ["node", "development|production"]

// The slowest files, such as most of those that start several servers. CI runs them too.
const isFull = process.env["SKEIN_TEST_FULL"] === "1"
const slow = isFull ? [] : ["packages/*/test/**/*.full.test.ts", "test/**/*.full.test.ts"]

export default defineConfig({
  resolve: { conditions },
  ssr: { resolve: { conditions, externalConditions: conditions } },
  test: {
    // As the program is started (packages/cli/bin/skein.js).
    execArgv: ["--max-semi-space-size=8"],
    // A bound for what hangs, and no measure of anything: how long a test takes is a matter of the machine.
    testTimeout: 60_000,
    hookTimeout: 60_000,
    // Files share the modules: to load them takes longer than most files take to run.
    isolate: false,
    // More than there are cores: many tests wait for a process, and most of the slowest ones for several servers. Vitest's
    // default would leave a core idle.
    maxWorkers: availableParallelism() + (isFull ? 2 : 1),
    setupFiles: ["test/support/everyFile.ts"],
    include: ["packages/*/test/**/*.test.ts", "test/**/*.test.ts"],
    exclude: [...configDefaults.exclude, ...slow]
  }
})
