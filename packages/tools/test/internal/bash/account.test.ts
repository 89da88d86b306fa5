import { parse, type Script } from "unbash"
import { describe, expect, it } from "vitest"
import { unaccounted } from "../../../src/internal/bash/account.ts"

/** Places of a line in each of which a word stands that the parse takes for plain text. */
const frames = [
  "ls WORD; ls",
  "a=WORD ls",
  "a=WORD; ls",
  "a=(b WORD c); ls",
  "declare a=WORD",
  "ls > WORD",
  "cat <<< WORD",
  "ls \"a WORD b\"",
  "ls ${x:-WORD}",
  "ls \"${x:-WORD}\"",
  "ls ${x/WORD/b}",
  "ls {a,WORD}",
  "cat <<A\nWORD\nA",
  "for i in WORD; do ls; done",
  "case WORD in WORD) ls;; esac",
  "[[ -f WORD ]]",
  "[[ a == WORD ]]",
  "f() { ls WORD; }",
  "ls $(ls WORD)",
  "ls `ls WORD`",
  "ls <(ls WORD)"
]

/** What a parser that takes it for text would hide, each as long as `WORD`. */
const hides = ["`id`", "$(i)", "${i}", "<(i)", "()`i", "a`i`", "\"`i`", "a\\`'", "a'`'", "$[i]"]

/** A parse whose texts are those of another line: what a parser gives that reads that line like the first one. */
const reread = (script: Script, line: string): Script => {
  const exchange = (value: unknown, at?: number): unknown => {
    if (typeof value === "string") return value
    if (Array.isArray(value)) return value.map((each) => exchange(each))
    if (typeof value !== "object" || value === null) return value
    const node = JSON.parse(JSON.stringify(value)) as Record<string, unknown>
    const [pos, end] = [Number(node["pos"] ?? at), Number(node["end"])]
    return Object.fromEntries(
      Object.entries(node).map(([key, each]) => {
        if (key === "text") return [key, line.slice(pos, end)]
        if (key === "value" && typeof each === "string") return [key, each === "WORD" ? line.slice(pos, end) : each]
        return [key, exchange(each)]
      })
    )
  }
  return exchange(script) as Script
}

describe("a parse that takes an expansion or a quote for text", () => {
  it.each(frames)("of %j leaves something over", (frame) => {
    expect(unaccounted(frame, parse(frame))).toBeUndefined()
    expect(unaccounted(frame, reread(parse(frame), frame)), "the exchange changes nothing by itself").toBeUndefined()
    for (const hidden of hides) {
      const line = frame.replaceAll("WORD", hidden)
      // Between double quotes, in a here-document and in braces some of these are only text.
      if (/"|<<A|\$\{/.test(frame) && /^<\(i\)$|'/.test(hidden)) continue
      expect(unaccounted(line, reread(parse(frame), line)), line).toBeDefined()
    }
  })
})

/** Signs that stand between words, and no node is read for them. */
const signs = [";", "&", "|", "\n", "(", ")", "<", ">", "&&", "`", "$(", "#", "{", "fi", "done"]

describe("a parse that overlooks a sign between words", () => {
  it.each(signs)("%j leaves something over", (sign) => {
    for (
      const line of ["ls a  b", "ls a;  ls", "if a;  then b; fi", "a=(b  c)", "for i in a  b; do c; done", "(  ls )"]
    ) {
      const at = line.indexOf("  ")
      const blank = line.replace("  ", " ".repeat(sign.length + 2))
      const script = parse(blank)
      expect(unaccounted(blank, script)).toBeUndefined()
      const spoilt = `${blank.slice(0, at + 1)}${sign}${blank.slice(at + 1 + sign.length)}`
      // Line ends may stand in a list, and before a command.
      if (sign === "\n" && !/^ls a  b|^for/.test(line)) continue
      expect(unaccounted(spoilt, script), JSON.stringify(spoilt)).toBeDefined()
    }
  })
})
