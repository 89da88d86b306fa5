/** Lists the programs that run the command in their arguments, and where in the arguments it begins. */
import { type Leading, skipOptions } from "./options.ts"
import type { Argument } from "./words.ts"

/**
 * Where the command of a wrapper begins, and the variables that the wrapper sets for it. `none`: it has no command.
 * `unclear`: only the program itself knows.
 */
export type Wrapped =
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
