/**
 * Decides which files a call opens: those in the table of its program, or else everything that its arguments may name.
 */
import { lookup } from "@skein/domain/Lookup"
import * as Either from "effect/Either"
import { posix } from "node:path"
import { findCall } from "../programs/findCall.ts"
import type { Named } from "../programs/readCall.ts"
import { gitCall } from "./gitCall.ts"
import { isStream, pathsOf } from "./operands.ts"
import type { Invocation } from "./parts.ts"
import { type Argument, plainWord } from "./words.ts"

/** A word that names files, and what happens to them. */
interface NamedFile {
  readonly word: Argument
  readonly text: string
  /** Whether it reveals their contents. `maybe`: unless something else is known. */
  readonly tells: boolean | "maybe"
}

/** A directory whose files are all read. */
export interface ReadBelow {
  /** The word that names it, if any. */
  readonly word?: Argument
  readonly directory: string
  readonly hidden: boolean
  /** Patterns of the names that are read; all if there is none. */
  readonly names: ReadonlyArray<string>
  /** Whether each name is passed on as one argument, whatever it contains. */
  readonly whole: boolean
  /** Whether the names become arguments of a program, which then follows links. */
  readonly given: boolean
  /** Whether the program follows the links that it finds there. */
  readonly follows?: boolean
  /** Whether the paths include hidden directories. */
  readonly all: boolean
}

/** The files that a call opens. */
export interface CallFiles {
  readonly named: ReadonlyArray<NamedFile>
  readonly below: ReadonlyArray<ReadBelow>
}

const canBePath = (text: string): boolean =>
  text !== "" && text.length <= 4096 && !isStream(text) &&
  text.split("/").every((name) => Buffer.byteLength(name) <= 255)

const home = (text: string): string =>
  text.replace(/^\$(?:HOME|\{HOME\})(?=\/|$)/, "~").replace(/^\$(?:PWD|\{PWD\})(?=\/|$)/, ".")

/** Where wget stores what it downloads. */
const fetched = (url: string): ReadonlyArray<string> => {
  const path = url.replace(/^[a-z]+:\/\//i, "").replace(/[?#].*$/s, "")
  const name = path.includes("/") ? path.slice(path.lastIndexOf("/") + 1) : ""
  const decoded = Either.getOrElse(Either.try(() => decodeURIComponent(name)), () => name)
  return [name, decoded].filter((each) => each !== "" && !each.includes("/"))
}

const known = (program: string, named: Named<Argument>, acts: boolean): ReadonlyArray<NamedFile> => {
  const { kind, operand, word } = named
  const text = home(named.text)
  const looks = (tells: NamedFile["tells"], path = text): NamedFile => ({ word, text: path, tells })
  switch (kind) {
    case "read":
    case "below":
    case "pack":
      return [looks(true)]
    case "look":
    case "write":
      return [looks(false)]
    case "git":
      // The name of a branch may also be the name of a file.
      return [
        looks("maybe"),
        ...text.includes(":")
          ? [looks("maybe", text.slice(text.indexOf(":") + 1)), looks("maybe", text.slice(text.lastIndexOf(":") + 1))]
          : []
      ]
    case "url":
      return program === "wget" ? fetched(text).map((path) => looks(false, path)) : []
    case "text":
      return acts && operand
        ? [looks("maybe"), ...text.includes("=") ? [looks("maybe", text.slice(text.indexOf("=") + 1))] : []]
        : []
    default:
      return []
  }
}

/** Options that limit a search to certain file names. */
const naming = lookup<RegExp>({
  egrep: /^--include$/,
  fgrep: /^--include$/,
  grep: /^--include$/,
  rg: /^(?:-g|--glob)$/
})

/** The patterns of the names that a search reads; empty if it reads all, or if Skein cannot interpret them. */
const namesOf = (call: Invocation["call"], program: string): ReadonlyArray<string> => {
  const option = naming[program]
  const given = call?.named.filter((each) => each.option !== undefined && option?.test(each.option) === true) ?? []
  const names = given.map(({ text }) => text).filter((text) => program !== "rg" || !text.startsWith("!"))
  if (call?.options.includes("--iglob") === true) return []
  return names.every((text) => /^[\w.*?-]+$/.test(text)) && given.every(({ word }) => word.fixed) ? names : []
}

/** The files that a call with a table opens. */
const ofTable = ({ args, call, program, reads }: Invocation): CallFiles => {
  const directories = program === "git" ? gitCall(args).directories : []
  const inside = directories.map(({ text }) => text)
  const named = (call?.named ?? []).flatMap((each) => known(program, each, !reads)).flatMap((each) =>
    inside.length === 0 ? [each] : [each, { ...each, text: posix.join(...inside, each.text) }]
  )
  const operands = (call?.named ?? []).filter(({ kind }) => kind === "read" || kind === "below")
  // For two directories, diff compares the files in them.
  const compares = program === "diff" || program === "sdiff"
  const isBelow = (kind: string) => kind === "below" || call?.below === true || compares
  const tops = operands.filter(({ kind, operand, word }) => operand && isBelow(kind) && word.output === undefined)
  const all = {
    hidden: call?.hidden === true,
    names: namesOf(call, program),
    whole: true,
    given: false,
    follows: compares,
    all: false
  }
  const below = tops.map(({ text, word }): ReadBelow => ({ ...all, directory: home(text), word }))
  return {
    named: [...named, ...directories.map((word) => ({ word, text: word.text, tells: false as const }))],
    below: below.length === 0 && call?.here === true ? [{ ...all, directory: "." }] : below
  }
}

/** The placeholder for the output of commands that write paths. */
const ofOutputs = ({ args }: Invocation): ReadonlyArray<ReadBelow> =>
  args.flatMap(({ output }) =>
    output?.kind === "paths"
      ? output.below.map((directory) => ({
        directory,
        hidden: true,
        names: output.names,
        whole: output.whole,
        given: true,
        all: output.all
      }))
      : []
  )

/** With an option that its table does not have, a program that reads files may read all below a directory. */
const ofUnknown = (call: Invocation["call"]): ReadonlyArray<ReadBelow> => {
  if (call?.unknown === undefined) return []
  const all = { hidden: true, names: [], whole: true, given: false, all: true }
  const tops = call.named.filter(({ kind, operand }) => operand && (kind === "read" || kind === "below"))
  return call.here
    ? [{ ...all, directory: "." }]
    : tops.map(({ text, word }) => ({ ...all, directory: home(text), word }))
}

/** The files that a call opens. */
export const filesOf = (invocation: Invocation): CallFiles => {
  const { args, call, program, risk } = invocation
  const outputs = ofOutputs(invocation)
  if (program === "find" && risk === undefined) {
    return { named: findCall(args).starts.map((word) => ({ word, text: home(word.text), tells: false })), below: [] }
  }
  if (program === "xargs" && risk === undefined) return { named: [], below: [] }
  if (call !== undefined && call.unknown === undefined && risk === undefined) {
    const { below, named } = ofTable(invocation)
    const own: ReadonlyArray<NamedFile> = program.includes("/")
      ? [{ word: plainWord(program), text: program, tells: false }]
      : []
    return {
      named: [...own, ...named.filter(({ text, word }) => canBePath(text) && word.output === undefined)],
      below: [...below, ...outputs]
    }
  }
  return { named: pathsOf(invocation), below: [...outputs, ...ofUnknown(call)] }
}
