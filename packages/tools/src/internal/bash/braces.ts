/** Counts what the braces of a word stand for, without writing it out: `{a,b}` repeated 20 times is a million words. */
import type { Word } from "unbash"

/** Braces that are open. */
interface Open {
  readonly from: number
  /** How many words its alternatives stand for, without the last one. */
  sum: number
  /** How many the last one stands for. */
  last: number
  /** How many there are where it is never closed: then what stands in it is text with other braces. */
  text: number
  commas: number
}

const open = (from: number): Open => ({ from, sum: 0, last: 1, text: 1, commas: 0 })

const quotedText = /'[^']*'?|"(?:[^"\\]|\\[^])*"?/y

const range = /^(-?\d+|[A-Za-z])\.\.(-?\d+|[A-Za-z])(?:\.\.(-?\d+))?$/

const place = (text: string): number => /\d/.test(text) ? Number(text) : text.charCodeAt(0)

/** How many words a range such as `1..9` stands for; `undefined` where it is none. */
const rangeOf = (text: string): number | undefined => {
  const [, from, to, step] = range.exec(text) ?? []
  if (from === undefined || to === undefined) return undefined
  return Math.floor(Math.abs(place(to) - place(from)) / Math.max(1, Math.abs(Number(step ?? 1)))) + 1
}

const multiply = (into: Open, count: number): void => {
  into.last *= count
  into.text *= count
}

/** How many words a text with braces stands for, or more. */
export const countBraces = (text: string): number => {
  const all = open(0)
  // The shell may take a brace that closes no list for text, and close it with a later one: then every comma counts.
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

/** How many words the shell makes of a word by its braces. */
export const expandedCount = ({ parts = [], text }: Word): number => {
  if (!text.includes("{")) return 1
  const loose = parts.map((part) =>
    part.type === "Literal" || part.type === "BraceExpansion" || part.type === "Glob" || part.type === "ExtendedGlob"
      ? part.text
      : ""
  )
  return countBraces(parts.length === 0 ? text : loose.join(""))
}
