/** However often a session is drawn, and however its terminal changes its size: the same is to be seen, and each finished line once. */
import * as fc from "effect/FastCheck"
import { describe, expect, it } from "vitest"
import { Seat } from "./support/seat.ts"

/** Something that happens; what stays of it in the scrollback has a number of its own. */
type Step = (seat: Seat, number: number) => unknown

const finished = (number: number) => `#${number}.`

const steps: Readonly<Record<string, Step>> = {
  prompt: (seat, number) => seat.prompted(finished(number)),
  say: (seat, number) =>
    seat.message("assistant").said(`- ${finished(number)} 世界 **words** of an answer that is wrapped\n`),
  stream: (seat, number) => seat.streams(`${finished(number)} some words\n`),
  code: (seat, number) => seat.message("assistant").said(`\`\`\`ts\nconst a = "${finished(number)}"\n\`\`\`\n`),
  table: (seat, number) => seat.message("assistant").said(`| a | b |\n|---|---|\n| ${finished(number)} | 世 |\n`),
  call: (seat, number) => seat.called({ tool: "bash", input: { command: finished(number) }, metadata: { exit: 0 } }),
  note: (seat, number) => seat.model.say(finished(number)),
  error: (seat, number) => seat.model.say(finished(number), "error")
}

/** What leaves nothing in the scrollback. */
const passing: Readonly<Record<string, (seat: Seat) => unknown>> = {
  type: (seat) => seat.model.press([{ type: "text", text: "word " }], seat.moment),
  menu: (seat) => seat.model.press([{ type: "text", text: "/" }], seat.moment),
  escapeMenu: (seat) => seat.model.menu === undefined ? undefined : seat.escape(),
  breakLine: (seat) => seat.model.press([{ type: "key", name: "ctrl+j" }], seat.moment),
  erase: (seat) => seat.model.press([{ type: "key", name: "ctrl+u" }], seat.moment),
  delegate: (seat) => seat.delegated("a", "Looks around"),
  ends: (seat) => seat.tell("subagent.completed", { task_id: "ses_a", outcome: { status: "completed" } }, "ses_a"),
  asks: (seat) =>
    seat.tell("question.asked", {
      id: "prt_q",
      sessionID: "ses_1",
      rootID: "ses_1",
      path: ["build"],
      question: "Which one?",
      options: [{ label: "red" }, { label: "blue" }],
      multiple: false
    }),
  tree: (seat) => seat.model.openTree(),
  leaveTree: (seat) => seat.model.views.tree === undefined ? undefined : seat.escape()
}

const step = fc.oneof(
  fc.constantFrom(...Object.keys(steps)),
  fc.constantFrom(...Object.keys(passing))
)

// So high that the live region still fits when it is wrapped: what a terminal pushes into its scrollback is out of reach.
const resize = fc.option(
  // One at a time: xterm.js forgets rows below the cursor when both change at once.
  fc.oneof(
    fc.record({ columns: fc.integer({ min: 50, max: 120 }) }),
    fc.record({ rows: fc.integer({ min: 40, max: 60 }) })
  ),
  { nil: undefined }
)

const happen = (seat: Seat, name: string, number: number): boolean => {
  const stays = steps[name]
  if (stays === undefined) passing[name]?.(seat)
  else stays(seat, number)
  return stays !== undefined
}

const numbersIn = (lines: ReadonlyArray<string>) =>
  [...lines.join("\n").matchAll(/#(\d+)\./g)].map(([, each]) => Number(each))

const last = (all: ReadonlyArray<string>, count: number) => count === 0 ? [] : all.slice(-count)

const trimmed = (all: ReadonlyArray<string>) => all.map((line) => line.trimEnd())

describe("whatever happens in a session", () => {
  it("drawing each step leaves the same as drawing all at once", () =>
    fc.assert(
      fc.property(fc.array(step, { maxLength: 30 }), (names) => {
        const [often, once] = [new Seat(), new Seat()]
        const above: Array<string> = []
        const take = (seat: Seat) => {
          const frame = seat.frame()
          if (frame.type === "main") above.push(...frame.above)
          return frame
        }
        names.forEach((name, number) => {
          happen(often, name, number)
          take(often)
          happen(once, name, number)
        })
        for (const seat of [often, once]) if (seat.model.views.tree !== undefined) seat.escape()
        const [drawn, all] = [take(often), once.frame()]
        if (drawn.type !== "main" || all.type !== "main") throw new Error("The tree was left.")
        expect(above).toEqual(all.above)
        expect(drawn.below).toEqual(all.below)
        expect(drawn.cursor).toEqual(all.cursor)
      })
    ))

  it("each finished line stands once above the live region, whatever the sizes", () =>
    fc.assert(
      fc.asyncProperty(fc.array(fc.tuple(step, resize), { maxLength: 25 }), async (happened) => {
        const seat = new Seat(true, {}, 80, 50)
        const stays: Array<number> = []
        for (const [number, [name, size]] of happened.entries()) {
          if (size !== undefined) {
            await seat.terminal.settled()
            const { columns, rows } = { columns: seat.terminal.columns, rows: seat.terminal.rows, ...size }
            seat.terminal.resize(columns, rows)
          }
          if (happen(seat, name, number)) stays.push(number)
          seat.frame()
        }
        if (seat.model.views.tree !== undefined) seat.escape()
        seat.tell("session.idle", {})
        const frame = seat.frame()
        if (frame.type !== "main") throw new Error("The tree was left.")
        const lines = await seat.lines()
        expect(numbersIn(lines)).toEqual(stays)
        // What is drawn stands at the end, and nothing of earlier drawings above it.
        const below = last(lines, frame.below.length)
        expect(trimmed(below)).toEqual(trimmed(frame.below))
        expect(lines.filter((line) => /^─+$/.test(line) && line.length > 25)).toHaveLength(1)
      }),
      { numRuns: 60 }
    ))

  it("200 turns leave each finished line once, in order", async () => {
    const seat = new Seat()
    const turns = Array.from({ length: 200 }, (_, turn) => turn)
    for (const turn of turns) {
      seat.prompted(finished(3 * turn)).frame()
      for (let piece = 0; piece < 5; piece++) seat.streams(`word ${piece} `).frame()
      seat.streams(`${finished(3 * turn + 1)}\n`).frame()
      seat.called({ tool: "bash", input: { command: finished(3 * turn + 2) }, metadata: { exit: 0 } }).frame()
      if (turn % 20 === 0) {
        await seat.terminal.settled()
        seat.terminal.resize(60 + turn % 70, 24)
      }
    }
    expect(numbersIn(await seat.lines())).toEqual(Array.from({ length: 600 }, (_, number) => number))
  })
})
