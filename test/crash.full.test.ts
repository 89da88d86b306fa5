/**
 * The program is killed at each of its points, and continues: nothing is lost or repeated, and every report is true.
 */
import { failpoints } from "@skein/core/Failpoints"
import { stride } from "@skein/testing/Seeds"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { describe, expect, it, vi } from "vitest"
import { drive } from "../scripts/crash/drive.mjs"
import { atPoints } from "../scripts/crash/jobs.mjs"
import { mutants } from "../scripts/crash/mutants.mjs"
import { points } from "../scripts/crash/points.mjs"
import { faultsOf } from "../scripts/crash/report.mjs"
import { faultsIn } from "../scripts/crash/wire.mjs"
import { root } from "../scripts/layout.mjs"
import { atEnd } from "./support/atEnd.ts"
import { sandbox } from "./support/cli.ts"

vi.setConfig({ testTimeout: 90_000, maxConcurrency: 2 })

it("every point is one that the harness kills at, or a test of imports does", () => {
  expect(Object.keys(points)).toEqual(failpoints.filter((name) => name !== "draft_page_committed"))
})

it("SKEIN_FAILPOINT accepts only a point and a number", async () => {
  const place = sandbox()
  atEnd(place.remove)
  for (const wrong of ["before_provider", "before_provider:0", "before_provider:1:thaw", "nowhere:1"]) {
    const { code, stderr } = await place.run(["sessions"], { env: { SKEIN_FAILPOINT: wrong } })
    expect([code, stderr.includes(`"${wrong}"`)]).toEqual([2, true])
  }
})

it.each(Object.entries(mutants))("the mistake %s can still be made in the source", (_, { patches }) => {
  for (const { file, from } of patches) {
    expect(readFileSync(join(root, file), "utf8").split(from), file).toHaveLength(2)
  }
})

describe("the harness notices", () => {
  const user = { role: "user", content: "go" }
  const call = (...ids: ReadonlyArray<string>) => ({
    role: "assistant",
    tool_calls: ids.map((id) => ({ id, function: { name: "read", arguments: "{}" } }))
  })
  const result = (id: string) => ({ role: "tool", tool_call_id: id, content: "read" })

  it.each([
    ["a call without a result", [user, call("a"), user]],
    ["a call with two", [user, call("a"), result("a"), result("a")]],
    ["a result of nothing", [user, result("a")]],
    ["an id that is used twice", [user, call("a"), result("a"), call("a"), result("a")]],
    ["two answers in a row", [user, call("a"), result("a"), { role: "assistant" }, { role: "assistant" }, user]],
    ["nothing to answer", [user, { role: "assistant", content: "done" }]]
  ])("%s", (_, messages) => {
    expect(faultsIn(messages)).not.toEqual([])
  })

  it("nothing if all is well", () => {
    expect(faultsIn([{ role: "system" }, user, call("a", "b"), result("b"), result("a")])).toEqual([])
  })
})

describe.concurrent("killed at", () => {
  const plans = atPoints(1).filter((_, at) => at % stride === 0)
  it.each(plans.map((plan) => [plan.label, plan] as const))("%s", async (_, plan) => {
    const verdict = await drive(plan)
    expect(faultsOf(verdict)).toEqual([])
    expect(verdict.kills).toBe(1)
  })
})
