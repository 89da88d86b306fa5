import { defineConfig } from "vitest/config"

const conditions = ["skein-source", "module", "node", "development|production"]

export default defineConfig({
  resolve: { conditions },
  ssr: { resolve: { conditions, externalConditions: conditions } },
  test: {
    include: ["packages/*/test/**/*.test.ts", "test/**/*.test.ts"]
  }
})
