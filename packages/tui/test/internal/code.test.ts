/** Proves that colours change no character of code: a person may read it before it is run, and copy it. */
import { expect, it } from "@effect/vitest"
import * as fc from "effect/FastCheck"
import { code, Markdown } from "../../src/internal/text/Markdown.ts"
import { coloured } from "../../src/Style.ts"

/** What the escape sequences of colours are left out of. */
const shown = (row: string) => row.replaceAll(new RegExp(`${String.fromCharCode(27)}\\[[\\d;]*m`, "g"), "")

const textOf = (text: string, language: string) => code(text, language, coloured).map((run) => run.text).join("")

it.each([
  "kill [9p]",
  "a[31mb a[2Jb",
  "sleep 10s; head -c 5M x.0y 0x1fz 1_000n",
  "echo \"9p '3q",
  "x=1px # 2em"
])("%s is shown as it is", (text) => {
  const markdown = new Markdown(coloured)
  markdown.line("```sh", 200)
  expect(markdown.line(text, 200).map(shown)).toEqual([`  ${text}`])
})

it("the runs of a line are the line, whatever it is", () => {
  const character = fc.constantFrom(..."09axzAF_$.\"'`#/-*[] \\()é日\u{1f600}")
  fc.assert(
    fc.property(
      fc.string({ unit: character, maxLength: 30 }),
      fc.constantFrom("", "sh", "sql", "ts", "diff", "text"),
      (text, language) => {
        expect(textOf(text, language)).toBe(text)
      }
    ),
    { numRuns: 2_000 }
  )
})
