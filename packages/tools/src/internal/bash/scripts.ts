/** Reads the scripts that a line runs by their names. Rules that deny a command apply to the commands in them as well. */
import { readFileSync, statSync } from "node:fs"
import { resolve } from "node:path"
import { attempt } from "../disk.ts"
import type { Invocation, Parts } from "./parts.ts"
import { takeApart } from "./takeApart.ts"
import { mayRun, mayWrap } from "./unlisted.ts"
import { plainWord, said, spelled } from "./words.ts"

/** The maximum length of a script that is read, in bytes. */
const maximumLength = 65_536

/** How many arguments of a program that nothing is known about are checked as scripts. */
const maximumTails = 32

/** How deep scripts that run scripts are followed. */
const maximumDepth = 3

const textOf = (path: string): string =>
  attempt(() => {
    const about = statSync(path)
    return about.isFile() && about.size <= maximumLength ? readFileSync(path, "utf8") : ""
  }, "")

/** The scripts of package.json that a package manager runs, with the ones before and after it, and their arguments. */
const ofPackage = ({ args }: Invocation, directory: string): ReadonlyArray<string> => {
  const scripts: unknown = attempt(() => JSON.parse(textOf(resolve(directory, "package.json"))).scripts, {})
  const byName = new Map(Object.entries(Object(scripts)))
  const at = args.findIndex(({ text }) => byName.has(text))
  const name = args[at]?.text ?? ""
  return [`pre${name}`, name, `post${name}`].flatMap((each) => {
    const text = byName.get(each)
    return at < 0 || typeof text !== "string" ? [] : [each === name ? `${text} ${said(args.slice(at + 1))}` : text]
  })
}

/** The text of a shell script that is run by its path, or by a shell. */
const ofShell = ({ args, program }: Invocation, directory: string): ReadonlyArray<string> => {
  const isShell = /^(?:\.|source|(?:.*\/)?r?(?:ba|da|k|z)?sh)$/.test(program)
  const file = isShell ? args.find(({ text }) => !text.startsWith("-"))?.text : program
  const text = file === undefined || !(isShell || program.includes("/")) ? "" : textOf(resolve(directory, file))
  return text === "" || (!isShell && !/^#!.*sh\b/.test(text)) ? [] : [text]
}

/** A call, and if its program may run its arguments, each tail of them as a call. */
const withTails = (each: Invocation): ReadonlyArray<Invocation> => [
  each,
  ...(mayWrap(each.program) ? each.args.slice(0, maximumTails) : []).map(({ text }, at) => ({
    ...each,
    program: text,
    args: each.args.slice(at + 1)
  }))
]

const isExecutable = (path: string): boolean =>
  attempt(() => {
    const about = statSync(path)
    return about.isFile() && (about.mode & 0o111) !== 0
  }, false)

/** A call that may run a file among its arguments counts as one that does. */
const withFiles = (each: Invocation, directories: ReadonlyArray<string>): Invocation => {
  const { args, program } = each
  const runs = each.runs !== true && mayWrap(program) &&
    args.slice(0, maximumTails).some(({ text }) =>
      directories.some((directory) => isExecutable(resolve(directory, text)))
    )
  const { risk } = mayRun(program)
  const pattern = spelled([plainWord(program), ...args])
  return runs ? { ...each, pattern, risk, beginning: program, ordinary: true, reads: false, runs } : each
}

/** Adds the commands in its scripts to the other ways to write a line. */
export const withScripts = (parts: Parts, directories: ReadonlyArray<string>, depth = maximumDepth): Parts => {
  const invocations = parts.invocations.map((each) => withFiles(each, directories))
  const texts = invocations.flatMap(withTails).flatMap((each) =>
    directories.flatMap((directory) =>
      /^(?:bun|npm|pnpm|yarn)$/.test(each.program) ? ofPackage(each, directory) : ofShell(each, directory)
    )
  )
  const inner = depth === 0 ? [] : texts.map((text) => withScripts(takeApart(text), directories, depth - 1))
  return {
    ...parts,
    invocations,
    also: [
      ...parts.also,
      ...inner.flatMap((
        { also, invocations: calls }
      ) => [...also, ...calls.map(({ args, program }) => said([plainWord(program), ...args]))])
    ]
  }
}
