import { describe, expect, it } from "@effect/vitest"
import { mentionOf, mentionsIn } from "@skein/domain/Mention"
import * as fc from "effect/FastCheck"
import { completed, filled, wordsOf } from "../../src/internal/command/template.ts"

const expand = (template: string, raw: string) => {
  const { highest, pieces } = completed(template, raw)
  return filled(pieces, { raw, words: wordsOf(raw), highest })
}

describe("words", () => {
  it.each([
    ["a  b\tc", ["a", "b", "c"]],
    [`a "b c" 'd "e"' f`, ["a", "b c", "d \"e\"", "f"]],
    [`x"y z"'!' "" `, ["xy z!", ""]],
    [String.raw`a\ b "c \" d" '\'`, ["a b", "c \" d", "\\"]],
    ["don't stop", ["don't", "stop"]],
    [`doesn't "" it's`, ["doesn't", "", "it's"]],
    ["'it\u0027s here' '' l'été d'Anna", ["it's here", "", "l'été", "d'Anna"]],
    [`--name='a b' n"c d"`, ["--name=a b", "nc d"]],
    ["\"; touch PWNED; #", ["\";", "touch", "PWNED;", "#"]],
    ["", []]
  ])("of %j", (text, words) => expect(wordsOf(text)).toEqual(words))
})

describe("a template", () => {
  it.each([
    ["Fix $1 in $2.", "it here and there", "Fix it in here and there."],
    ["$2, $1", "a", ", a"],
    ["All: $ARGUMENTS", `a "b c"`, `All: a "b c"`],
    ["$10 $1", "a b", " a"],
    ["$ARGUMENTSX $HOME $0 costs 5$", "x", "$ARGUMENTSX $HOME $0 costs 5$\n\nx"],
    ["No place", "", "No place"],
    ["No place", "for this", "No place\n\nfor this"],
    ["See @src/$1.ts, @\"a b\" and me@home.org.", "x", "See @src/x.ts, @\"a b\" and me@home.org."],
    ["@... and @a.", "", "@... and @a."]
  ])("%j with %j", (template, raw, text) => expect(expand(template, raw)).toBe(text))

  it("expands each place once: arguments are plain text", () => {
    const piece = fc.constantFrom(
      "$ARGUMENTS",
      "$1",
      "$2",
      "!`rm x`",
      "@a.ts",
      "'",
      "\"",
      "\\",
      "`",
      " ",
      "x",
      "$&",
      "$$"
    )
    fc.assert(fc.property(fc.array(piece, { maxLength: 12 }), (pieces) => {
      const raw = pieces.join("")
      expect(expand("<$ARGUMENTS>", raw)).toBe(`<${raw}>`)
      const words = wordsOf(raw)
      expect(expand("<$1>", raw)).toBe(`<${words.join(" ")}>`)
      expect(completed("<$ARGUMENTS> $1", raw).pieces).toEqual(completed("<$ARGUMENTS> $1", "").pieces)
    }))
  })
})

describe("mentions", () => {
  it.each([
    ["@a.ts, then (@b/c.md) and @d.", ["a.ts", "b/c.md", "d"]],
    ["me@home.org a/@types `@x` @@y @", []],
    ["@\"with space.md\" @a @a", ["with space.md", "a"]],
    ["@../up @/etc/hosts @~/x", ["../up", "/etc/hosts", "~/x"]]
  ])("in %j", (text, names) => expect(mentionsIn(text)).toEqual(names))

  it.each([
    ["src/a.ts", "@src/a.ts"],
    ["日本語 ファイル.txt", "@\"日本語 ファイル.txt\""],
    ["a(1).txt", "@\"a(1).txt\""],
    ["end.", "@\"end.\""],
    ["a\"b", undefined]
  ])("of %j", (name, text) => expect(mentionOf(name)).toBe(text))
})
