/** Remembers the scripts that servers and hooks run outside of any sandbox, and finds out which of them has changed. */
import { createHash } from "node:crypto"
import * as NodeFs from "node:fs"
import { statSync } from "node:fs"
import { basename, resolve } from "node:path"
import { attempt } from "./internal/disk.ts"

/**
 * A script of a hook, as the command names it, and its contents when the hooks were read; undefined if it did not
 * exist.
 */
interface Script {
  readonly word: string
  readonly hash: string | undefined
}

/** Programs that run the file in their arguments. */
const interpreter = /^(?:(?:ba|da|k|z)?sh|fish|node|bun|deno|tsx|ts-node|python[\d.]*|ruby|perl|php|lua|source|\.)$/

/** Programs that run the rest of their words. */
const wrapper = /^(?:exec|command|env|nohup|nice|time|npx|then|do|else|if|while|until|!|\{)$/

const isOption = (word: string): boolean => word.startsWith("-")

/** The words of each simple command of a line, as far as they are known without running it. */
const commandsIn = (line: string): ReadonlyArray<ReadonlyArray<string>> => {
  const tokens = line.match(/\d*[<>]+&?|[;|&()`\n]|(?:'[^']*'|"[^"]*"|\\.|[^\s'"\\;|&()<>`])+/g) ?? []
  const commands: Array<Array<string>> = [[]]
  let isFile = false
  for (const token of tokens) {
    if (/^[;|&()`\n]$/.test(token)) commands.push([])
    else if (/^\d*[<>]/.test(token)) isFile = true
    else {
      // The target of a redirection is not run.
      if (!isFile) commands.at(-1)?.push(token.replaceAll(/['"]|\\(?=.)/g, ""))
      isFile = false
    }
  }
  return commands
}

const scriptsOf = (words: ReadonlyArray<string>): ReadonlyArray<string> => {
  const start = words.findIndex((word) => !/^\w+=/.test(word) && !wrapper.test(word) && !isOption(word))
  const [program = "", ...rest] = start < 0 ? [] : words.slice(start)
  const own = program.includes("/") ? [program] : []
  if (!interpreter.test(basename(program))) return own
  const line = rest[rest.findIndex((word) => /^-[a-z]*c$/.test(word)) + 1]
  if (rest.some((word) => /^-[a-z]*c$/.test(word)) && line !== undefined) return [...own, ...scriptsIn(line)]
  // The value of an option is checked as well: an additional file does no harm.
  const operand = rest.findIndex((word) => !isOption(word) && word !== "run")
  return [...own, ...rest.slice(0, operand + 1).filter((word) => !isOption(word) && word !== "run")]
}

/** The files that a line runs, as written in it. */
const scriptsIn = (line: string): ReadonlyArray<string> => commandsIn(line).flatMap(scriptsOf)

const contentOf = (path: string): string | undefined =>
  attempt(() => createHash("sha256").update(NodeFs.readFileSync(path)).digest("hex"), undefined)

/** The current scripts of a hook; `directory` is the session's directory. */
export const hookScripts = (command: string, directory: string) => {
  const scripts = [...new Set(scriptsIn(command))].map((word): Script => ({
    word,
    hash: contentOf(resolve(directory, word))
  }))
  return {
    /** Their paths. */
    paths: scripts.map(({ word }) => resolve(directory, word)),
    /** A script that has changed, for a hook that runs in this directory. */
    changed: (cwd: string): string | undefined => {
      const found = scripts.find(({ hash, word }) => contentOf(resolve(cwd, word)) !== hash)
      return found === undefined ? undefined : resolve(cwd, found.word)
    }
  }
}

const isScript = /\.(?:[cm]?[jt]sx?|py|sh|bash|rb|pl|php|lua|jar|ps1)$/i

/** The hash of a script or a program; undefined if there is none, and for data, which may change. */
const hashOf = (path: string, directory: string): string | undefined =>
  attempt(() => {
    const info = statSync(path)
    const isProgram = isScript.test(path) || (path.startsWith(`${directory}/`) && (info.mode & 0o111) !== 0)
    return info.isFile() && isProgram ? contentOf(path) : undefined
  }, undefined)

/** Remembers them as they are now; the result finds one that is no longer the same. */
export const remember = (command: ReadonlyArray<string>, directory: string): () => string | undefined => {
  // A word may be a command line itself, as in `sh -c "node a.mjs"`, or an option with its value.
  const words = command.flatMap((word) => [word, ...word.split(/[\s"'`;|&<>()=$]+/)]).filter((word) => word !== "")
  const paths = [...new Set(words.map((word) => resolve(directory, word)))]
  const before = paths.map((path) => [path, hashOf(path, directory)] as const)
  return () => before.find(([path, hash]) => hashOf(path, directory) !== hash)?.[0]
}
