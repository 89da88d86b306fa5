import { defineConfig } from "vitest/config"

// Not `module`: what stands there is made for bundlers, and Node cannot always load it.
const conditions = ["skein-source", "node", "development|production"]

export default defineConfig({
  resolve: { conditions },
  ssr: { resolve: { conditions, externalConditions: conditions } },
  test: {
    include: ["packages/*/test/**/*.test.ts", "test/**/*.test.ts"]
  }
})
