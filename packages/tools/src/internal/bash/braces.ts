/** Counts the words of a brace expansion without writing them out: `{a,b}` repeated 20 times is a million words. */
import type { Word } from "unbash"

/** An open pair of braces. */
interface Open {
  readonly from: number
  /** The number of words of its alternatives, without the last one. */
  sum: number
  /** The number of words of the last one. */
  last: number
  /** The number of words if it is never closed. Then its content is text that may contain other braces. */
  text: number
  commas: number
}

const open = (from: number): Open => ({ from, sum: 0, last: 1, text: 1, commas: 0 })

const quotedText = /'[^']*'?|"(?:[^"\\]|\\[^])*"?/y

const range = /^(-?\d+|[A-Za-z])\.\.(-?\d+|[A-Za-z])(?:\.\.(-?\d+))?$/

const place = (text: string): number => /\d/.test(text) ? Number(text) : text.charCodeAt(0)

/** The number of words of a range such as `1..9`; `undefined` if it is not a range. */
const rangeOf = (text: string): number | undefined => {
  const [, from, to, step] = range.exec(text) ?? []
  if (from === undefined || to === undefined) return undefined
  return Math.floor(Math.abs(place(to) - place(from)) / Math.max(1, Math.abs(Number(step ?? 1)))) + 1
}

const multiply = (into: Open, count: number): void => {
  into.last *= count
  into.text *= count
}

/** An upper bound for the number of words that a text with braces expands to. */
export const countBraces = (text: string): number => {
  const all = open(0)
  // The shell may take a brace that closes no list for text, and close the list with a later one. Then every comma
  // counts.
  let isStrange = false
  let most = 1
  const stack: Array<Open> = []
  for (let at = 0; at < text.length; at++) {
    const top = stack.at(-1)
    switch (text.charAt(at)) {
      case "\\":
        at++
        break
      case "'":
      case "\"": {
        quotedText.lastIndex = at
        at += (quotedText.exec(text)?.[0].length ?? 1) - 1
        break
      }
      case "{":
        stack.push(open(at + 1))
        break
      case ",":
        most *= 2
        if (top === undefined) break
        top.sum += top.last
        top.last = 1
        top.commas++
        break
      case "}": {
        if (top === undefined) break
        stack.pop()
        const ranged = rangeOf(text.slice(top.from, at))
        isStrange ||= top.commas === 0 && ranged === undefined
        most *= ranged ?? 1
        multiply(stack.at(-1) ?? all, ranged ?? (top.commas > 0 ? top.sum + top.last : top.last))
        break
      }
    }
  }
  const count = stack.reduce((product, each) => product * each.text, all.last)
  return isStrange ? Math.max(count, most) : count
}

/** The number of words that brace expansion makes of a word. */
export const expandedCount = ({ parts = [], text }: Word): number => {
  if (!text.includes("{")) return 1
  const loose = parts.map((part) =>
    part.type === "Literal" || part.type === "BraceExpansion" || part.type === "Glob" || part.type === "ExtendedGlob"
      ? part.text
      : ""
  )
  return countBraces(parts.length === 0 ? text : loose.join(""))
}
