/**
 * Knows the output of some commands, a word that is harmless anywhere or paths of the tree, and what `xargs` and `find
 * -exec` run for it.
 */
import { lookup } from "@skein/domain/Lookup"
import { findCall, knownCall } from "../programs/programs.ts"
import { type Argument, type Output, placeholder } from "./words.ts"
import { skipOptions } from "./wrappers.ts"

const isFixed = ({ fixed }: Argument): boolean => fixed

const texts = (words: ReadonlyArray<Argument>): ReadonlyArray<string> => words.map(({ text }) => text)

/** Hashes, numbers and names of the system: none of them begins with a dash. */
const harmlessWord = ([program = "", ...args]: ReadonlyArray<string>): boolean => {
  switch (program) {
    case "date":
      return args.length === 1 && /^\+[%\w][%\w:.,/_-]*$/.test(args[0] ?? "")
    case "nproc":
    case "whoami":
      return args.length === 0
    case "id":
      return args.length === 1 && /^-[ug]n?$/.test(args[0] ?? "")
    case "uname":
      return args.every((each) => /^-[smr]$/.test(each))
    case "git": {
      const [sub = "", ...rest] = args
      const revisions = rest.every((each) => /^[\w@^~/.][\w@^~/.-]*$/.test(each))
      return (sub === "merge-base" && revisions) ||
        (sub === "rev-parse" && rest.length > 0 &&
          rest.every((each) => /^(?:--short|--verify|HEAD[~^\d]*|@)$/.test(each)))
    }
    default:
      return false
  }
}

const everywhere: Output = { kind: "paths", below: ["."], all: false, whole: false, names: [] }

/** Paths of files, one a line. */
const pathsOf = (words: ReadonlyArray<Argument>): Output | undefined => {
  const [program, ...args] = words
  const given = texts(args)
  const call = knownCall(program?.text ?? "", args)
  const isKnown = call !== undefined && call.call.unknown === undefined
  switch (program?.text) {
    case "git":
      return isKnown &&
          (given[0] === "ls-files" &&
              !given.some((each) => /^-(?:s|t|v|f|-stage|-debug|-eol|u|-unmerged|z)$/.test(each)) ||
            (/^(?:diff|diff-tree|diff-index|show|log|ls-tree)$/.test(given[0] ?? "") &&
              given.includes("--name-only")) ||
            (given[0] === "grep" && given.some((each) => /^(?:-l|--files-with-matches|--name-only)$/.test(each))))
        ? everywhere
        : undefined
    case "rg":
    case "grep":
      return isKnown && given.some((each) => /^-[a-zA-Z]*l[a-zA-Z]*$|^--files(?:-with-matches)?$/.test(each)) &&
          !call.call.options.some((each) =>
            /^(?:-c|-o|--json|-p|--pretty|--replace|-r|--color)$/.test(each) && program.text === "rg"
          )
        ? {
          ...everywhere,
          all: program.text === "grep",
          below: belowOf(call.call.named.flatMap(({ kind, text }) => kind === "text" ? [] : [text]))
        }
        : undefined
    case "fd":
      return isKnown ? everywhere : undefined
    case "ls":
      // Its names are relative to what it lists: they may also be names of the working directory.
      return given.every((each) => /^-[1acdrtAB]+$|^(?!.*\.\.)[\w.*?][\w./*?-]*$/.test(each))
        ? { ...everywhere, below: [".", ...given.filter((each) => !each.startsWith("-")).map(directoryOf)] }
        : undefined
    case "find": {
      const found = findCall(args)
      const plain = found.unknown === undefined && found.runs.length === 0 &&
        !given.some((each) => /^-(?:printf|ls|fprint.*)$/.test(each))
      return plain ? { ...everywhere, all: true, below: belowOf(texts(found.starts)), names: found.names } : undefined
    }
    default:
      return undefined
  }
}

/** The directory of the names that a word stands for. */
const directoryOf = (text: string): string => text.replace(/[^/]*[*?].*$/, "") || "."

const belowOf = (starts: ReadonlyArray<string>): ReadonlyArray<string> => starts.length === 0 ? ["."] : starts

/** Programs that pass on some of their input lines. */
const isFilter = ([program, ...args]: ReadonlyArray<Argument>): boolean => {
  const name = program?.text ?? ""
  if (!/^(?:head|tail|sort|uniq|grep|egrep|fgrep|tac|cat|shuf)$/.test(name)) return false
  const call = knownCall(name, args)?.call
  const operands = call?.named.filter(({ kind }) => kind !== "text") ?? []
  return call?.unknown === undefined && operands.length === 0 &&
    !call?.options.some((each) =>
      /^(?:-o|--only-matching|-c|--count|-n|--line-number|-b|-H|--color|-v?n)$/.test(each) &&
      !/^(?:head|tail|sort)$/.test(name)
    )
}

/** The output of a pipeline of simple commands, if it is known. */
export const outputOf = (commands: ReadonlyArray<ReadonlyArray<Argument>>): Output | undefined => {
  const [first, ...filters] = commands
  const isKnown = (word: Argument) => isFixed(word) || (first?.[0]?.text === "ls" && word.glob !== undefined)
  if (first === undefined || !commands.every((words) => words.length > 0 && words.every(isKnown))) return undefined
  if (filters.length === 0 && harmlessWord(texts(first))) return { kind: "word" }
  return filters.every(isFilter) ? pathsOf(first) : undefined
}

/** Replaces the placeholder for the files. */
const filled = (words: ReadonlyArray<Argument>, sign: string, output: Output | undefined): ReadonlyArray<Argument> =>
  words.map((word) =>
    word.text === sign ? placeholder(output) : word.text.includes(sign) ? { ...word, fixed: false } : word
  )

const leading = {
  flags: "0oprtx",
  valued: "nLPsdIa",
  longFlags: ["exit", "interactive", "no-run-if-empty", "null", "open-tty", "verbose"],
  longValued: ["arg-file", "delimiter", "max-args", "max-chars", "max-procs"]
}

/** The values of an option, which are in its word or the next. */
const valuesOf = (args: ReadonlyArray<Argument>, option: RegExp): ReadonlyArray<Argument> =>
  args.flatMap((word, at) => {
    const text = option.exec(word.text)?.[1]
    return text === undefined ? [] : text === "" ? args.slice(at + 1, at + 2) : [{ ...word, text }]
  })

/** Where the command of xargs begins, the placeholder for its input, and the files that it reads instead. */
const xargsCall = (args: ReadonlyArray<Argument>) => {
  const at = skipOptions(args, leading)
  if (at === undefined || at >= args.length) return undefined
  const options = args.slice(0, at)
  const files = valuesOf(options, /^(?:-[0oprtx]*a|--arg-file(?:=|$))(.*)$/)
  if (files.some(({ text }) => text.startsWith("-"))) return undefined
  const replaces = options.findLastIndex(({ text }) => /^-[0oprtx]*I/.test(text))
  // The last of these options holds.
  const adds = options.slice(replaces + 1).some(({ text }) => /^-[0oprtx]*[nL]|^--max-args/.test(text))
  return { command: args.slice(at), sign: valuesOf(options, /^-[0oprtx]*I(.*)$/).at(-1)?.text, adds, files }
}

/** The files from which xargs takes arguments instead of its input. */
export const argumentFiles = (args: ReadonlyArray<Argument>): ReadonlyArray<Argument> => xargsCall(args)?.files ?? []

/** Options that name a file, or the input, which lists further operands. */
const lists = lookup<RegExp>({
  "7z": /^(?:-[ir].*)?@/,
  "7za": /^(?:-[ir].*)?@/,
  bsdtar: /^-[a-zA-Z]*T|^--files/,
  cpio: /^-[a-zA-Z]*[op]|^--(?:create|pass)/,
  du: /^--files/,
  find: /^-files0-from/,
  git: /^--(?:pathspec-fr|stdin-p)/,
  gtar: /^-[a-zA-Z]*T|^--files/,
  parallel: /^-[a-zA-Z]*a|^--arg|^::::/,
  pax: /^-[a-z]*w/,
  rsync: /^--files-from/,
  sort: /^--files/,
  tar: /^-[a-zA-Z]*T|^--files/,
  wc: /^--files/,
  zip: /^-[a-zA-Z]*@/
})

/** The arguments of a program, and a placeholder for those that a list adds. */
export const withListed = (program: string, args: ReadonlyArray<Argument>): ReadonlyArray<Argument> => {
  const option = lists[program]
  const isNamed = ({ text }: Argument, at: number) =>
    option?.test(text) === true || (at === 0 && option?.test(`-${text}`) === true)
  const isInput = program === "parallel" && !args.some(({ text }) => /^:::\+?$/.test(text))
  return isInput || args.some(isNamed) ? [...args, placeholder(undefined)] : args
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
  if (program !== "xargs") return []
  const found = xargsCall(args)
  // With options that are not known, any word may be the command, or the input itself.
  if (found === undefined) return skipOptions(args, leading) === args.length ? [] : [[placeholder(undefined)]]
  const output = found.files.length === 0 ? outputOf(input) : undefined
  const words = found.sign === undefined ? found.command : filled(found.command, found.sign, output)
  return [found.sign === undefined || found.adds ? [...words, placeholder(output)] : words]
}
