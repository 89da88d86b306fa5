/** Reads options as programs do: clusters of letters, long names that may be cut short, values in the same word or the next. */
import type { Argument } from "./words.ts"

/** Options of a program that does more with them than it does without. */
export interface Options {
  /** Letters. */
  readonly short?: string
  /** Long names without their dashes; a beginning of one counts as it. */
  readonly long?: ReadonlyArray<string>
  /** Whole words, such as `-exec`. */
  readonly words?: ReadonlyArray<string>
  /** Beginnings of words, of programs that take values behind them. */
  readonly starts?: ReadonlyArray<string>
}

const names = ({ long = [], short = "", starts = [], words = [] }: Options, text: string): boolean => {
  if (words.includes(text) || starts.some((each) => text.startsWith(each))) return true
  const name = /^--([^=]+)/.exec(text)?.[1]
  if (name !== undefined) return long.some((each) => each.startsWith(name))
  return /^-[^-]/.test(text) && [...text.slice(1)].some((letter) => short.includes(letter))
}

/** The first of the arguments that is one of these options, or may hold one in a cluster. */
export const findOption = (args: ReadonlyArray<Argument>, options: Options): string | undefined =>
  args.find(({ text }) => names(options, text))?.text

/** How the options of a program are read that stand before something else. */
export interface Leading {
  /** Letters that take a value. */
  readonly valued?: string
  /** Letters that take none. */
  readonly flags?: string
  /** Long names that take a value. */
  readonly longValued?: ReadonlyArray<string>
  /** Long names that take none. */
  readonly longFlags?: ReadonlyArray<string>
}

/** How many words a long option takes; `undefined` where it is not known. */
const longTakes = (text: string, { longFlags = [], longValued = [] }: Leading): number | undefined => {
  const [name = "", value] = text.slice(2).split("=", 2)
  if (longValued.includes(name)) return value === undefined ? 2 : 1
  return longFlags.includes(name) && value === undefined ? 1 : undefined
}

const shortTakes = (text: string, { flags = "", valued = "" }: Leading): number | undefined => {
  for (let at = 1; at < text.length; at++) {
    const letter = text.charAt(at)
    if (valued.includes(letter)) return at === text.length - 1 ? 2 : 1
    if (!flags.includes(letter)) return undefined
  }
  return 1
}

/** How many of the arguments are options, the `--` after them included; `undefined` where one of them is not known. */
export const skipOptions = (args: ReadonlyArray<Argument>, leading: Leading): number | undefined => {
  let at = 0
  for (let arg = args[at]; arg !== undefined; arg = args[at]) {
    if (!arg.fixed) return undefined
    const { text } = arg
    if (text === "--") return at + 1
    if (!/^-./.test(text)) return at
    const takes = text.startsWith("--") ? longTakes(text, leading) : shortTakes(text, leading)
    if (takes === undefined) return undefined
    if (args.slice(at, at + takes).some(({ fixed, tilde }) => !fixed || tilde)) return undefined
    at += takes
  }
  return Math.min(at, args.length)
}
