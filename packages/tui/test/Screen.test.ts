import * as fc from "effect/FastCheck"
import { describe, expect, it } from "vitest"
import { type Place, Screen } from "../src/Screen.ts"
import { fit } from "../src/Width.ts"
import { TestTerminal } from "./support/terminal.ts"

const world = (columns: number, rows: number) => {
  const terminal = new TestTerminal(columns, rows)
  const written: Array<string> = []
  const screen = new Screen({
    write: (text) => {
      written.push(text)
      terminal.write(text.replaceAll(/(?<!\r)\n/g, "\r\n"))
    },
    size: () => ({ columns: terminal.columns, rows: terminal.rows }),
    reflow: "xtermJs"
  })
  const lines = async () => {
    await terminal.settled()
    return terminal.lines
  }
  return { terminal, screen, written, lines }
}

describe("the lower part of the screen", () => {
  it("is drawn in the place of itself, below what stays", async () => {
    const { lines, screen } = world(20, 6)
    screen.draw([], ["one", "two", "three"])
    screen.draw(["stays"], ["four"])
    expect(await lines()).toEqual(["stays", "four"])
    screen.draw(["stays too"], ["five", "six"])
    expect(await lines()).toEqual(["stays", "stays too", "five", "six"])
    screen.close(["the end"])
    expect(await lines()).toEqual(["stays", "stays too", "the end"])
  })

  it("stays in place while what is above scrolls away", async () => {
    const { lines, screen } = world(20, 4)
    for (let i = 0; i < 10; i++) screen.draw([`line ${i}`], ["a", "b"])
    expect(await lines()).toEqual([...Array.from({ length: 10 }, (_, i) => `line ${i}`), "a", "b"])
  })

  it("writes only the lines that differ", () => {
    const { screen, written } = world(20, 6)
    screen.draw([], ["the same", "old", "also the same"])
    screen.draw([], ["the same", "new", "also the same"])
    expect(written[1]).toContain("new")
    expect(written[1]).not.toContain("same")
  })

  it("writes nothing where nothing has changed", () => {
    const { screen, written } = world(20, 6)
    screen.draw([], ["same"])
    screen.draw([], ["same"])
    expect(written).toHaveLength(1)
  })

  it("has the cursor where the input has it", async () => {
    const { screen, terminal } = world(20, 6)
    screen.draw(["above"], ["> ab", "status"], { row: 0, column: 3 })
    await terminal.settled()
    expect(terminal.cursor).toEqual({ row: 1, column: 3 })
    screen.draw([], ["> abc", "status"], { row: 0, column: 5 })
    await terminal.settled()
    expect(terminal.cursor).toEqual({ row: 1, column: 5 })
    expect(terminal.lines).toEqual(["above", "> abc", "status"])
  })

  it("keeps what is finished when lines of it are wrapped by a narrower terminal", async () => {
    const { lines, screen, terminal } = world(30, 8)
    screen.draw(["above"], ["x".repeat(24), "y".repeat(28), "in"], { row: 2, column: 2 })
    await terminal.settled()
    terminal.resize(10, 8)
    screen.draw([], ["short"])
    expect(await lines()).toEqual(["above", "short"])
  })

  it("counts colours as nothing, and never tears a wide character apart", async () => {
    const { lines, screen, terminal } = world(40, 8)
    screen.draw(["above"], ["\u001b[31mred\u001b[39m 世界世界世界世界", "b"], { row: 1, column: 1 })
    await terminal.settled()
    terminal.resize(9, 8)
    screen.draw([], ["done"])
    expect(await lines()).toEqual(["above", "done"])
  })

  it("is gone without a trace where it is empty", async () => {
    const { lines, screen } = world(20, 6)
    screen.draw(["above"], ["one", "two", "three"], { row: 0, column: 0 })
    screen.draw([], [])
    expect(await lines()).toEqual(["above"])
    screen.draw(["more"], ["four"])
    expect(await lines()).toEqual(["above", "more", "four"])
  })

  it("leaves the scrollback alone while the whole terminal is used", async () => {
    const { lines, screen, terminal } = world(20, 4)
    screen.draw(["above"], ["input"], { row: 0, column: 5 })
    screen.drawFull(["full", "screen"])
    await terminal.settled()
    expect(terminal.isAlternate).toBe(true)
    expect(terminal.glass.slice(0, 2)).toEqual(["full", "screen"])
    screen.draw(["news"], ["input"], { row: 0, column: 5 })
    expect(await lines()).toEqual(["above", "news", "input"])
    expect(terminal.isAlternate).toBe(false)
  })
})

const frame = fc.record({
  above: fc.array(fc.string({ unit: fc.constantFrom("a", "b", "世", " "), minLength: 0, maxLength: 12 }), {
    maxLength: 3
  }),
  below: fc.array(fc.string({ unit: fc.constantFrom("x", "y", "界"), minLength: 1, maxLength: 12 }), {
    minLength: 1,
    maxLength: 5
  }),
  cursor: fc.option(fc.nat({ max: 4 }), { nil: undefined }),
  // One at a time: xterm.js forgets rows below the cursor when both change at once.
  size: fc.oneof(
    fc.constant(undefined),
    fc.record({ columns: fc.integer({ min: 10, max: 60 }) }),
    fc.record({ rows: fc.integer({ min: 16, max: 30 }) })
  )
})

describe("whatever is drawn, and however the terminal changes its size", () => {
  it("each finished line stands once, and below them what was drawn last", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(frame, { minLength: 1, maxLength: 12 }), async (frames) => {
        const { lines, screen, terminal } = world(40, 20)
        const kept: Array<string> = []
        let below: ReadonlyArray<string> = []
        for (const each of frames) {
          if (each.size !== undefined) {
            await terminal.settled()
            const { columns = terminal.columns, rows = terminal.rows } = {
              columns: undefined,
              rows: undefined,
              ...each.size
            }
            terminal.resize(columns, rows)
          }
          const above = each.above.map((text, at) => fit(`#${kept.length + at}:${text}.`, terminal.columns - 1))
          kept.push(...above)
          below = each.below.map((line) => fit(line, terminal.columns - 1))
          const at: Place | undefined = each.cursor === undefined || each.cursor >= below.length
            ? undefined
            : { row: each.cursor, column: 1 }
          screen.draw(above, below, at)
        }
        // Where a wide character would be torn apart, a wrapped row ends in a space.
        const seen = (all: ReadonlyArray<string>) => all.map((line) => line.replaceAll(" ", ""))
        expect(seen(await lines())).toEqual(seen([...kept, ...below]))
      }),
      { numRuns: 60 }
    )
  })
})

/** How late tmux tells a program of another size if it has just told it of one, in milliseconds. */
const late = 250

describe("a terminal that changes its size before it says so", () => {
  it("shows each finished line once, whenever an answer ends meanwhile", async () => {
    const happening = fc.record({
      after: fc.integer({ min: 1, max: 120 }),
      columns: fc.option(fc.integer({ min: 20, max: 60 }), { nil: undefined }),
      ends: fc.boolean()
    })
    await fc.assert(
      fc.asyncProperty(fc.array(happening, { minLength: 2, maxLength: 25 }), async (happenings) => {
        const terminal = new TestTerminal(60, 30)
        let told = { columns: 60, rows: 30 }
        let [now, toldAt] = [0, Number.NEGATIVE_INFINITY]
        const screen = new Screen({
          write: (text) => terminal.write(text.replaceAll(/(?<!\r)\n/g, "\r\n")),
          size: () => told,
          reflow: "xtermJs"
        })
        const kept: Array<string> = []
        let above: Array<string> = []
        const draw = () => {
          const size = screen.measure(now)
          if (size === undefined) return
          const below = [`answer ${kept.length}.`, "─".repeat(size.columns - 1), "› in"]
          screen.draw(above, below, { row: 2, column: 4 }, size)
          above = []
        }
        const hear = () => {
          if (told.columns === terminal.columns || now < toldAt + late) return
          told = { columns: terminal.columns, rows: 30 }
          toldAt = now
          draw()
        }
        const wait = (milliseconds: number) => {
          const end = now + milliseconds
          now = Math.min(end, Math.max(now, toldAt + late))
          hear()
          now = end
        }
        draw()
        for (const { after, columns, ends } of happenings) {
          wait(after)
          if (columns !== undefined) {
            await terminal.settled()
            terminal.resize(columns, 30)
            hear()
          }
          if (ends) {
            above.push(`answer ${kept.length}.`)
            kept.push(`answer ${kept.length}.`)
          }
          draw()
        }
        wait(1_000)
        draw()
        await terminal.settled()
        expect(terminal.lines).toEqual([...kept, `answer ${kept.length}.`, "─".repeat(told.columns - 1), "› in"])
      }),
      { numRuns: 100 }
    )
  })
})
