/**
 * Lists the programs that run the command in their arguments, and where it begins. Parses options as programs do:
 * clusters of letters, abbreviated long names, values in the same word or the next.
 */
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
interface Leading {
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

/**
 * Where the command of a wrapper begins, and the variables that the wrapper sets for it. `none`: it has no command.
 * `unclear`: only the program itself knows.
 */
type Wrapped =
  | { readonly at: number; readonly sets: ReadonlyArray<Argument> }
  | "none"
  | "unclear"

type Unwrap = (args: ReadonlyArray<Argument>) => Wrapped

const from = (args: ReadonlyArray<Argument>, at: number, sets: ReadonlyArray<Argument> = []): Wrapped =>
  at >= args.length ? "none" : { at, sets }

/** A wrapper with options, this many words of its own, and then the command. */
const wrapper = (leading: Leading, own = 0): Unwrap => (args) => {
  const at = skipOptions(args, leading)
  if (at === undefined || args.slice(at, at + own).some(({ fixed, tilde }) => !fixed || tilde)) return "unclear"
  return from(args, at + own)
}

// env treats any word with this sign as an assignment.
const isSetting = ({ text }: Argument): boolean => text.includes("=")

const env: Unwrap = (args) => {
  const plain = args[0]?.text === "-" ? args.slice(1) : args
  const skipped = skipOptions(plain, {
    flags: "i",
    valued: "u",
    longFlags: ["ignore-environment"],
    longValued: ["unset"]
  })
  if (skipped === undefined) return "unclear"
  const begin = skipped + (args.length - plain.length)
  let at = begin
  while (args[at] !== undefined && isSetting(args[at] as Argument)) at++
  if (args[at]?.fixed === false) return "unclear"
  return from(args, at, args.slice(begin, at))
}

const nice: Unwrap = (args) =>
  /^-\d+$/.test(args[0]?.text ?? "") ? from(args, 1) : wrapper({ valued: "n", longValued: ["adjustment"] })(args)

const command: Unwrap = (args) => /^-p?[vV]$/.test(args[0]?.text ?? "") ? "none" : wrapper({ flags: "p" })(args)

const wrappers: ReadonlyMap<string, Unwrap> = new Map<string, Unwrap>([
  ["builtin", wrapper({})],
  ["choom", wrapper({ valued: "n", longValued: ["adjust"] })],
  ["command", command],
  ["env", env],
  ["exec", wrapper({ flags: "cl", valued: "a" })],
  ["ionice", wrapper({ flags: "t", valued: "cn", longFlags: ["ignore"], longValued: ["class", "classdata"] })],
  ["nice", nice],
  ["nohup", wrapper({})],
  ["setsid", wrapper({ flags: "cfw", longFlags: ["ctty", "fork", "wait"] })],
  ["stdbuf", wrapper({ valued: "ioe", longValued: ["input", "output", "error"] })],
  ["time", wrapper({ flags: "pv", valued: "f", longFlags: ["portability", "verbose"], longValued: ["format"] })],
  [
    "timeout",
    wrapper({
      flags: "v",
      valued: "ks",
      longFlags: ["foreground", "preserve-status", "verbose"],
      longValued: ["kill-after", "signal"]
    }, 1)
  ]
])

/** The command in a program's arguments; `undefined` if it is not a wrapper. */
export const unwrap = (program: string, args: ReadonlyArray<Argument>): Wrapped | undefined =>
  wrappers.get(program)?.(args)

/** The directories of a system's programs. */
const systemDirectories: ReadonlySet<string> = new Set([
  "/bin",
  "/sbin",
  "/usr/bin",
  "/usr/sbin",
  "/usr/local/bin",
  "/usr/local/sbin"
])

/** The name of a program in rules: for one in a directory of the system, its last segment. */
export const programName = (text: string): string => {
  const slash = text.lastIndexOf("/")
  return slash > 0 && systemDirectories.has(text.slice(0, slash)) ? text.slice(slash + 1) : text
}
