import { describe, expect, it } from "@effect/vitest"
import { share } from "@skein/testing/Seeds"
import * as FastCheck from "effect/FastCheck"
import { writeSync } from "node:fs"
import { takeApart } from "../../../src/internal/bash/takeApart.ts"
import { executed, strace } from "../../support/executed.ts"
import { lines } from "../../support/lines.ts"

/** How many lines are run, and by which chance: \`npm run fuzz:bash\` says. */
const count = Number(process.env["SKEIN_BASH_LINES"] ?? share(300))
const seed = Number(process.env["SKEIN_BASH_SEED"] ?? 20_261_121)

/** How many lines are made at once: all that is known of them stays in memory. */
const batch = 2_000

/** What a line is said to run, word by word; \`undefined\` where nobody can say, or only the files that there are. */
const told = (line: string) => {
  const { also, invocations, settings, unclear } = takeApart(line)
  const known = unclear === undefined && settings.length === 0 &&
    invocations.every(({ args, program, risk }) =>
      risk === undefined && (program === "echo" || args.every(({ glob, tilde }) => glob === undefined && !tilde))
    )
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
  it("of a line that may be allowed is what it was said to run (S03)", () => {
    const total = { known: 0, ran: 0 }
    const all: Array<ReturnType<typeof notTold>["missing"][number]> = []
    for (let at = 0; at < count; at += batch) {
      const { known, missing, ran } = notTold(
        FastCheck.sample(lines, { seed: seed + at, numRuns: Math.min(batch, count - at) })
      )
      all.push(...missing)
      total.known += known
      total.ran += ran
      if (count > batch) {
        // At once: what is logged comes when a test has ended.
        const done = Math.min(at + batch, count)
        writeSync(
          2,
          `${done} lines, ${total.known} allowed, ${total.ran} programs executed, ${all.length} not spoken of\n`
        )
      }
    }
    expect(all).toEqual([])
    // Lines that nobody can speak of prove nothing, and neither do those that run nothing.
    expect(total.known).toBeGreaterThan(count / 12)
    expect(total.ran).toBeGreaterThan(count / 8)
  }, 120_000 + count * 200)
})
