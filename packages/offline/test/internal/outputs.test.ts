/** The notes at the end of a tool's output. */
import { expect, it } from "vitest"
import { unreadable } from "../../src/internal/toolbox.ts"

it.each(["./locked: Permission denied (os error 13)", "a.txt: Input/output error; b.txt: Input/output error"])(
  "reports what the file tools could not read: %s",
  (complaint) => {
    const output = `project (1 file)\na.ts\n\n(Not everything could be read: ${complaint}.)`
    expect(unreadable(output)).toEqual([`Not everything could be read: ${complaint}.`])
  }
)

it("does not take a line of a file for such a note", () => {
  expect(unreadable("(Not everything could be read: here.)\nbut this follows")).toEqual([])
})
