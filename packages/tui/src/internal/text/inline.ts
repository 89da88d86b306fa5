/** Reads the markup inside a line of Markdown: code, emphasis, links. Each step looks ahead a bounded way. */
import type { Paint, Style } from "../../Style.ts"
import type { Run } from "./runs.ts"

/** How far the end of a mark may be, in characters. */
const longest = 2_000

const both = (outer: Paint | undefined, inner: Paint): Paint =>
  outer === undefined ? inner : (text) => outer(inner(text))

/** Marks that stand around what they change; the longer ones are looked for first. */
const marksOf = ({ bold, italic, strike }: Style): ReadonlyArray<readonly [mark: string, paint: Paint]> => [
  ["***", (text) => bold(italic(text))],
  ["**", bold],
  ["__", bold],
  ["~~", strike],
  ["*", italic],
  ["_", italic]
]

const isWord = (character: string | undefined): boolean => character !== undefined && /[\p{L}\p{N}]/u.test(character)

/** The place of a closing mark; -1 where the mark is only a character. */
const closing = (text: string, mark: string, from: number): number => {
  const first = text[from]
  if (first === undefined || /\s/.test(first)) return -1
  // `snake_case_words` are no emphasis.
  if (mark.startsWith("_") && isWord(text[from - mark.length - 1])) return -1
  let at = text.indexOf(mark, from + 1)
  while (at >= 0 && at - from < longest) {
    const isEnd = !/\s/.test(text[at - 1] ?? " ") && !(mark.startsWith("_") && isWord(text[at + mark.length]))
    if (isEnd) return at
    at = text.indexOf(mark, at + 1)
  }
  return -1
}

const link = /^!?\[([^[\]]{0,500})\]\(([^()\s]{1,2000})(?:\s[^()]{0,200})?\)/

/** Reads a line; `base` is the style around it. */
export const inline = (text: string, style: Style, base?: Paint): ReadonlyArray<Run> => {
  const runs: Array<Run> = []
  let plain = ""
  let at = 0
  const flush = () => {
    if (plain !== "") runs.push({ text: plain, paint: base })
    plain = ""
  }
  const marks = marksOf(style)
  while (at < text.length) {
    const character = text[at] ?? ""
    if (character === "\\" && /[!-/:-@[-`{-~]/.test(text[at + 1] ?? "")) {
      plain += text[at + 1]
      at += 2
      continue
    }
    if (character === "`") {
      const [ticks = "`"] = /^`+/.exec(text.slice(at, at + 16)) ?? []
      const end = text.indexOf(ticks, at + ticks.length)
      if (end > 0 && end - at < longest) {
        flush()
        runs.push({ text: text.slice(at + ticks.length, end), paint: both(base, style.cyan) })
        at = end + ticks.length
        continue
      }
    }
    if (character === "[" || (character === "!" && text[at + 1] === "[")) {
      const found = link.exec(text.slice(at, at + 2_800))
      if (found !== null) {
        const [whole, label = "", target = ""] = found
        flush()
        if (label !== "" && label !== target) runs.push(...inline(label, style, base), { text: " ", paint: base })
        runs.push({
          text: label === "" || label === target ? target : `(${target})`,
          paint: both(base, style.underline)
        })
        at += whole.length
        continue
      }
    }
    const mark = marks.find(([each]) => text.startsWith(each, at))
    const end = mark === undefined ? -1 : closing(text, mark[0], at + mark[0].length)
    if (mark !== undefined && end >= 0) {
      flush()
      runs.push(...inline(text.slice(at + mark[0].length, end), style, both(base, mark[1])))
      at = end + mark[0].length
      continue
    }
    const step = mark?.[0].length ?? 1
    plain += text.slice(at, at + step)
    at += step
  }
  flush()
  return runs
}
