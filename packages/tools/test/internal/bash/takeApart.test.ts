import { share } from "@skein/testing/Seeds"
import { writeSync } from "node:fs"
import { describe, expect, it } from "vitest"
import { readLine } from "../../../src/internal/bash/readLine.ts"
import { takeApart } from "../../../src/internal/bash/takeApart.ts"
import { executed, strace } from "../../support/executed.ts"
import { randomLine, randomOf } from "../../support/randomLines.ts"
import { type ReadCommand, secondReading } from "../../support/secondReading.ts"

/** How many lines are made and how many of those that may be allowed are run: `npm run fuzz:bash` says. */
const count = Number(process.env["SKEIN_BASH_LINES"] ?? (share(5) === 5 ? 200_000 : 10_000))
const execute = Number(process.env["SKEIN_BASH_EXECUTE"] ?? share(500))
const seed = Number(process.env["SKEIN_BASH_SEED"] ?? 20_261_121)

/** How many lines are run at once. */
const batch = 1_000

/** What a line is said to run, word by word; `undefined` where nobody can say. */
const told = (line: string) => {
  // Most lines are doubted: that is known before they are taken apart.
  if (readLine(line).unclear !== undefined) return undefined
  const { also, invocations, settings, unclear } = takeApart(line)
  const isAllowed = unclear === undefined && settings.length === 0 &&
    invocations.every(({ risk }) => risk === undefined)
  if (!isAllowed) return undefined
  const said = new Set([
    ...invocations.map(({ args, program }) => [program, ...args.map(({ text }) => text)].join(" ")),
    ...also
  ])
  const programs = new Set([...said].map((each) => each.split(" ", 1).join("")))
  // What stands for files is not known word by word.
  const fixed = invocations.every(({ args, program }) =>
    program === "echo" || args.every(({ fixed: isFixed, tilde }) => isFixed && !tilde)
  )
  return { said, programs, fixed }
}

type Told = NonNullable<ReturnType<typeof told>>

/** Commands of the second reading that the first one did not speak of. */
const unread = (line: string, read: ReadonlyArray<ReadCommand>, { programs, said }: Told) =>
  read.filter((words) => {
    const [program] = words
    const isDeclared = /^(?:declare|export|local|readonly|typeset)$/.test(program ?? "")
    return words.every((each) => each !== undefined) && !isDeclared
      ? !said.has(words.join(" "))
      : program !== undefined && !programs.has(program)
  }).map((words) => ({ line, words }))

describe("a line that may be allowed", () => {
  it("runs what it is said to run, by a second reading and where there is strace by what is executed (S03)", () => {
    const random = randomOf(seed)
    const total = { known: 0, agreed: 0, executed: 0, ran: 0 }
    const wrong: Array<unknown> = []
    let waiting: Array<{ readonly line: string; readonly about: Told }> = []
    const run = () => {
      const lines = waiting.splice(0)
      const ran = executed(lines.map(({ line }) => line))
      total.executed += lines.length
      for (const [at, { about, line }] of lines.entries()) {
        for (const argv of ran[at] ?? []) {
          total.ran++
          // What echo is given by a wrapper may be what only the shell knows.
          const isEcho = argv.includes("echo") && about.programs.has(argv[0] ?? "")
          if (!isEcho && !about.said.has(argv.join(" "))) wrong.push({ line, ran: argv })
        }
      }
    }
    // Those that are run are spread over all that are made.
    const each = Math.max(1, Math.floor(count / 12 / Math.max(1, execute)))
    for (let at = 0; at < count; at++) {
      const line = randomLine(random)
      const about = told(line)
      if (about !== undefined) {
        total.known++
        const read = secondReading(line)
        if (read !== undefined) total.agreed++
        wrong.push(...unread(line, read ?? [], about))
        if (about.fixed && total.known % each === 0 && total.executed + waiting.length < execute) {
          waiting.push({ line, about })
        }
      }
      if (strace !== undefined && waiting.length >= batch) run()
      if (count > 200_000 && (at + 1) % 20_000 === 0) {
        // At once: what is logged comes when a test has ended.
        writeSync(
          2,
          `${at + 1} lines, ${JSON.stringify(total)}, ${wrong.length} wrong ${JSON.stringify(wrong.slice(-6))}\n`
        )
      }
    }
    if (strace !== undefined && waiting.length > 0) run()
    expect(wrong.slice(0, 20)).toEqual([])
    // Lines that nobody can speak of prove nothing, and neither do those that run nothing.
    expect(total.known).toBeGreaterThan(count / 20)
    expect(total.agreed).toBeGreaterThan(total.known / 2)
    if (strace !== undefined) expect(total.ran).toBeGreaterThan(total.executed / 3)
  }, 120_000 + count + execute * 200)
})
