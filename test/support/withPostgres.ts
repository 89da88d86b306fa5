/** Runs tests that need a PostgreSQL server of their own; where none can be started, they are skipped. */
import { afterAll, it } from "vitest"
import { startPostgres } from "../../scripts/crash/postgres.mjs"

/** Declares tests for a server that lasts as long as their file. */
export const withPostgres = async (
  tests: (postgres: Awaited<ReturnType<typeof startPostgres>>) => void
): Promise<void> => {
  const postgres = await startPostgres().catch((error: unknown) => String(error))
  if (typeof postgres === "string") return it.skip(`PostgreSQL cannot be started here: ${postgres}`, () => undefined)
  afterAll(postgres.stop)
  tests(postgres)
}
