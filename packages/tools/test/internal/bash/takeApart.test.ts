import { describe, expect, it } from "@effect/vitest"
import * as FastCheck from "effect/FastCheck"
import { takeApart } from "../../../src/internal/bash/takeApart.ts"
import { executed, strace } from "../../support/executed.ts"
import { lines } from "../../support/lines.ts"

/** How many lines are run; more of them with SKEIN_BASH_LINES. */
const count = Number(process.env["SKEIN_BASH_LINES"] ?? 300)

/** What a line is said to run, word by word; `undefined` where nobody can say. */
const told = (line: string) => {
  const { also, invocations, settings, unclear } = takeApart(line)
  const known = unclear === undefined && settings.length === 0 && invocations.every(({ risk }) => risk === undefined)
  return known
    ? new Set([
      ...invocations.map(({ args, program }) => [program, ...args.map(({ text }) => text)].join(" ")),
      ...also
    ])
    : undefined
}

const notTold = (candidates: ReadonlyArray<string>) => {
  const known = candidates.flatMap((line) => {
    const said = told(line)
    return said === undefined ? [] : [{ line, said }]
  })
  const ran = executed(known.map(({ line }) => line))
  const missing = known.flatMap(({ line, said }, at) =>
    (ran[at] ?? []).map((argv) => argv.join(" ")).filter((each) => !said.has(each)).map((each) => ({ line, ran: each }))
  )
  return { known: known.length, ran: ran.reduce((sum, each) => sum + each.length, 0), missing }
}

describe.skipIf(strace === undefined)("what is executed (watched by strace; skipped where there is none)", () => {
  it("of a line that may be allowed is what it was said to run", () => {
    const all = FastCheck.sample(lines, { seed: 20_261_121, numRuns: count })
    const { known, missing, ran } = notTold(all)
    expect(missing).toEqual([])
    // Lines that nobody can speak of prove nothing, and neither do those that run nothing.
    expect(known).toBeGreaterThan(count / 4)
    expect(ran).toBeGreaterThan(count / 2)
  }, 120_000 + count * 100)
})
