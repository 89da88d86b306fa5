/** Parses options as programs do: clusters of letters, abbreviated long names, values in the same word or the next. */
import type { Argument } from "./words.ts"

/** Options that make a program do more. */
export interface Options {
  /** Letters. */
  readonly short?: string
  /** Long names without their dashes. An abbreviation counts too. */
  readonly long?: ReadonlyArray<string>
  /** Whole words, such as `-exec`. */
  readonly words?: ReadonlyArray<string>
  /** Prefixes of words, for programs whose values follow directly. */
  readonly starts?: ReadonlyArray<string>
}

const names = ({ long = [], short = "", starts = [], words = [] }: Options, text: string): boolean => {
  if (words.includes(text) || starts.some((each) => text.startsWith(each))) return true
  const name = /^--([^=]+)/.exec(text)?.[1]
  if (name !== undefined) return long.some((each) => each.startsWith(name))
  return /^-[^-]/.test(text) && [...text.slice(1)].some((letter) => short.includes(letter))
}

/** The first argument that is one of these options, or may contain one in a cluster. */
export const findOption = (args: ReadonlyArray<Argument>, options: Options): string | undefined =>
  args.find(({ text }) => names(options, text))?.text

/** How to parse the options before another argument. */
export interface Leading {
  /** Letters with a value. */
  readonly valued?: string
  /** Letters without a value. */
  readonly flags?: string
  /** Long names with a value. */
  readonly longValued?: ReadonlyArray<string>
  /** Long names without a value. */
  readonly longFlags?: ReadonlyArray<string>
}

/** The number of words of a long option; `undefined` if it is unknown. */
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

/** The number of arguments that are options, including the final `--`; `undefined` if one of them is unknown. */
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
