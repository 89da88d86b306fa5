import { describe, expect, it } from "vitest"
import { Screen } from "../../src/internal/terminal/screen.ts"
import { VirtualTerminal } from "../support/virtualTerminal.ts"

const world = (columns: number, rows: number) => {
  const terminal = new VirtualTerminal(columns, rows)
  const written: Array<string> = []
  const size = { columns }
  const screen = new Screen({
    write: (text) => {
      written.push(text)
      terminal.write(text)
    },
    columns: () => size.columns
  })
  return { terminal, screen, written, size }
}

describe("the lower part of the screen", () => {
  it("is drawn in the place of itself, below what stays", () => {
    const { screen, terminal } = world(20, 6)
    screen.draw([], ["one", "two", "three"])
    screen.draw(["stays"], ["four"])
    expect(terminal.text).toEqual(["stays", "four"])
    screen.draw(["stays too"], ["five", "six"])
    expect(terminal.text).toEqual(["stays", "stays too", "five", "six"])
    expect(terminal.cursorIsShown).toBe(false)
    screen.close(["the end"])
    expect(terminal.text).toEqual(["stays", "stays too", "the end", ""])
    expect(terminal.cursorIsShown).toBe(true)
  })

  it("stays in place while what is above scrolls away", () => {
    const { screen, terminal } = world(20, 4)
    for (let i = 0; i < 10; i++) screen.draw([`line ${i}`], ["a", "b"])
    expect(terminal.text).toEqual([...Array.from({ length: 10 }, (_, i) => `line ${i}`), "a", "b"])
  })

  it("finds its beginning again where the terminal has become narrower", () => {
    const { screen, size, terminal } = world(10, 8)
    // On a terminal of 10 columns these are the three rows that a line of 24 is wrapped to.
    size.columns = 30
    screen.draw(["above"], ["x".repeat(24)])
    size.columns = 10
    screen.draw([], ["short"])
    expect(terminal.text).toEqual(["above", "short"])
  })

  it("counts colours as nothing, and wide characters as two columns", () => {
    const { screen, terminal } = world(8, 8)
    screen.draw([], ["\u001b[31mred\u001b[39m 世界", "b"])
    screen.draw([], ["done"])
    expect(terminal.text).toEqual(["done"])
  })

  it("writes nothing where nothing has changed", () => {
    const { screen, written } = world(20, 6)
    screen.draw([], ["same"])
    screen.draw([], ["same"])
    expect(written).toHaveLength(1)
  })
})
