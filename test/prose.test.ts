/** The prose gate finds what it is for, and nothing else. */
import { describe, expect, it } from "vitest"
import { blocks, checkPage, checkSource } from "../scripts/prose.mjs"

const words = (count: number) => Array.from({ length: count }, () => "word").join(" ")
const says = (page: string) => checkPage("page.md", page).map(({ line, says: found }) => `${line} ${found}`)

describe("in a page", () => {
  it("a sentence has at most 35 words", () => {
    expect(says(`Short.\n\n${words(35)}.`)).toEqual([])
    expect(says(`Short.\n\n${words(36)}.`)).toEqual([expect.stringMatching(/^3 a sentence of 36 words/)])
    expect(says(`${words(20)}. W${words(20)}.`)).toEqual([])
  })

  it("a paragraph has at most 90 words, over all its lines", () => {
    const sentence = `W${words(30)}.`
    expect(says(Array.from({ length: 3 }, () => sentence).join("\n"))).toEqual([])
    expect(says(Array.from({ length: 4 }, () => sentence).join("\n"))).toEqual([
      expect.stringMatching(/^1 a paragraph of 120 words/)
    ])
  })

  it("each item of a list and each cell of a table is read separately", () => {
    expect(blocks("- one\n- two\n  more\n\n| a | `b | c` |\n| - | --- |\n").map(({ text }) => text)).toEqual([
      "one",
      "two more",
      "a",
      "`b   c`"
    ])
    expect(says(`| ${words(36)} | x |`)).toHaveLength(1)
  })

  it("fenced code is ignored, and inline code counts as one word", () => {
    expect(says(`\`\`\`sh\nfirst line\n${words(200)} gone on with\n\`\`\``)).toEqual([])
    expect(says(`Run \`${words(60)}\` now.`)).toEqual([])
  })

  it("calques are found, unless they are code", () => {
    expect(says("A task is gone on with by its caller.")).toEqual([expect.stringMatching(/^1 "gone on with"/)])
    expect(says("A task continues. `gone on with` is what we do not say.")).toEqual([])
  })
})

describe("in a source", () => {
  const found = (code: string, file = "a.ts") =>
    checkSource(file, code).map(({ line, says: what }) => `${line} ${what}`)

  it("comments and texts are read, across lines", () => {
    expect(found("// one\n/** A run whom\n * nobody wants. */\nconst a = 1")).toEqual([
      expect.stringMatching(/^2 "whom nobody"/)
    ])
    expect(found("const a = \"gone on with\"\nconst b = `nothing ${a} is told of`")).toEqual([
      expect.stringMatching(/^1 "gone on with"/),
      expect.stringMatching(/^2 "is told of"/)
    ])
  })

  it("texts of a page are read", () => {
    expect(found("const a = <p>\nThe session goes on.</p>", "a.tsx")).toEqual([
      expect.stringMatching(/^1 "goes on"/)
    ])
  })

  it.each([
    ["`x` is no file.", "is no file"],
    ["The line tells of a hook.", "tells of"],
    ["A run as far as it has come.", "as far as it has come"],
    ["It lets in one archive.", "lets in"],
    ["What is said of an error.", "said of"],
    ["The usual, where nothing is said.", "where nothing is said"]
  ])("%j reads as if translated", (text, phrase) => {
    expect(found(`// ${text}`)).toEqual([expect.stringContaining(`"${phrase}"`)])
  })

  it.each(["There is no file.", "You are told where it leads."])(
    "%j does not",
    (text) => expect(found(`// ${text}`)).toEqual([])
  )

  it("names are not", () => {
    expect(found("const whoever = 1\nexport const mend = whoever")).toEqual([])
  })
})
