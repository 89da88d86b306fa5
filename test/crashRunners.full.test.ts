/** Servers that share a PostgreSQL database: one is frozen around a command, and nothing that it leaves happens twice. */
import { describe, expect, it, vi } from "vitest"
import { faultsOf } from "../scripts/crash/report.mjs"
import { pointPlans } from "../scripts/crash/runnerPlans.mjs"
import { driveRunners } from "../scripts/crash/runners.mjs"
import { withPostgres } from "./support/withPostgres.ts"

vi.setConfig({ testTimeout: 180_000 })

await withPostgres((postgres) => {
  describe.concurrent("a tree whose server is frozen", () => {
    it.each(
      [
        ["right before it starts a command", "before_spawn:1"],
        ["while a command runs for longer than its lease", "after_spawn:5"]
      ]
    )("%s has each effect once", async (_, point) => {
      const [plan] = pointPlans([point], 12_000)
      const verdict = await driveRunners({ ...(plan ?? expect.fail("There is no plan")), postgres })
      expect(faultsOf(verdict)).toEqual([])
      expect(verdict.unknown).toBeGreaterThan(0)
    })

    it("in a cluster, with another one killed, sockets cut and locks lost, has each effect once", async () => {
      const blows = [
        { at: 500, runner: 0, how: "cut" },
        { at: 1_500, runner: 1, how: "kill" },
        { at: 2_500, runner: 0, how: "locks" },
        // The next server could freeze before it has stored that it took up the tree of the killed one.
        { at: 0, runner: 2, how: "freeze", after: "kill" }
      ] as const
      const verdict = await driveRunners({
        label: "all",
        blows,
        cluster: true,
        fromWork: true,
        frozen: 8_000,
        trees: 3,
        postgres
      })
      expect(faultsOf(verdict)).toEqual([])
      expect(verdict.recoveries?.map(({ how }) => how)).toContain("kill")
    })
  })
})
