/** Reads what `xargs` and `find -exec` run: commands with a placeholder for the found files. */
import { findCall } from "../programs/findCall.ts"
import { skipOptions } from "./options.ts"
import { outputOf } from "./outputs.ts"
import { type Argument, type Output, placeholder } from "./words.ts"

/** Replaces the placeholder for the files. */
const filled = (words: ReadonlyArray<Argument>, sign: string, output: Output | undefined): ReadonlyArray<Argument> =>
  words.map((word) =>
    word.text === sign ? placeholder(output) : word.text.includes(sign) ? { ...word, fixed: false } : word
  )

const leading = {
  flags: "0rtx",
  valued: "nLPsdI",
  longFlags: ["null", "no-run-if-empty", "verbose"],
  longValued: ["max-args", "max-procs", "delimiter", "replace"]
}

/** Where the command of xargs begins, and the placeholder for its input. */
const xargsCall = (args: ReadonlyArray<Argument>) => {
  const at = skipOptions(args, leading)
  if (at === undefined || at >= args.length) return undefined
  const options = args.slice(0, at).map(({ text }) => text)
  const sign = options.map((text, n) => /^-I(.+)$/.exec(text)?.[1] ?? (text === "-I" ? options[n + 1] : undefined))
    .find((
      each
    ) => each !== undefined)
  return { command: args.slice(at), sign }
}

/** If its options are known, xargs itself needs no question: its command has its own. */
export const xargsJudged = (args: ReadonlyArray<Argument>) => {
  const found = xargsCall(args)
  return found === undefined
    ? { risk: "xargs runs what it is given", reads: false }
    : { risk: undefined, reads: true }
}

/** The commands that a program runs for each of many files; none if it is not such a program, or cannot be parsed. */
export const commandsForEach = (
  program: string,
  args: ReadonlyArray<Argument>,
  input: ReadonlyArray<ReadonlyArray<Argument>>
): ReadonlyArray<ReadonlyArray<Argument>> => {
  if (program === "find") {
    const { names, runs, starts, unknown } = findCall(args)
    if (unknown !== undefined) return []
    const below = starts.length === 0 ? ["."] : starts.map(({ text }) => text)
    return runs.map((words) => filled(words, "{}", { kind: "paths", below, all: true, whole: true, names }))
  }
  const found = program === "xargs" ? xargsCall(args) : undefined
  if (found === undefined) return []
  const output = outputOf(input)
  return [
    found.sign === undefined
      ? [...found.command, placeholder(output)]
      : filled(found.command, found.sign, output)
  ]
}
