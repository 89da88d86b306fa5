/** Proves that the help can be read in a narrow terminal. */
import { expect, it } from "vitest"
import { helpLines } from "../../src/internal/model/Completion.ts"
import { colourless } from "../../src/Style.ts"
import { widthOf } from "../../src/Width.ts"

it.each([30, 60, 79])("the help is wrapped in a terminal of %i columns, and loses no word", (columns) => {
  const style = colourless
  const project = [{ name: "release", description: "Builds and publishes a release, and says which version it has" }]
  const [wide, narrow] = [helpLines(style, project, 500), helpLines(style, project, columns)]
  expect(narrow.filter((line) => widthOf(line) > columns)).toEqual([])
  const words = (lines: ReadonlyArray<string>) => lines.join(" ").split(/\s+/)
  expect(words(narrow)).toEqual(words(wide))
})
