/**
 * Finds what of the project a line runs: scripts by their names, to whose commands denials apply as well, and programs
 * that the PATH uses instead of those that rules and tables mean.
 */
import { readFileSync, statSync } from "node:fs"
import { resolve } from "node:path"
import { programInTree } from "../../OwnPrograms.ts"
import { attempt } from "../disk.ts"
import { tableFor } from "../programs/programs.ts"
import { asRisk, type Invocation, type Parts } from "./parts.ts"
import type { Places } from "./places.ts"
import { isBuiltin } from "./risks.ts"
import { takeApart } from "./takeApart.ts"
import { mayRun, mayWrap } from "./unlisted.ts"
import { plainWord, said } from "./words.ts"

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
  return runs && risk !== undefined ? asRisk(each, risk, { beginning: program, ordinary: true, runs }) : each
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

const isKnown = ({ call, program, reads }: Invocation): boolean =>
  !program.includes("/") && !isBuiltin(program) && (reads || call !== undefined || tableFor(program) !== undefined)

/**
 * Makes sure that no default and no wildcard covers a program whose name leads to the project; `top` is the project's
 * directory.
 */
export const withTreePrograms = (parts: Parts, places: Places, top: string, path: string | undefined): Parts => {
  const directories = [top, ...places.directories.map((each) => each === "" ? top : each)]
  const invocations = parts.invocations.map((each): Invocation => {
    const found = isKnown(each) ? programInTree(each.program, path, top, directories) : undefined
    if (found === undefined) return each
    const { args, pattern, program } = each
    return asRisk(
      { program, args, pattern, risk: undefined, reads: false },
      `${program} is a program of this project (${found})`,
      {
        runs: true
      }
    )
  })
  return { ...parts, invocations }
}
