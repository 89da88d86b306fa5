/**
 * Decides which files a call opens: those in the table of its program, or else everything that its arguments may name.
 */
import { lookup } from "@skein/domain/Lookup"
import * as Either from "effect/Either"
import { posix } from "node:path"
import { findCall, type Named } from "../programs/programs.ts"
import { gitCall } from "./gitCall.ts"
import { argumentFiles } from "./outputs.ts"
import type { Invocation } from "./parts.ts"
import { isBuiltin } from "./risks.ts"
import { type Argument, plainWord } from "./words.ts"

/** A word, and the part of it that may be a path. */
interface NamedText {
  readonly word: Argument
  readonly text: string
  readonly tells: "maybe"
}

/** Programs that open none of their arguments. */
const textual = new Set(
  `: basename break builtin cd command continue declare dirname echo exit export expr false hash id kill local printf return seq set
  shift sleep tr true type umask unset wait which`.split(/\s+/)
)

/** Programs whose first operand is a pattern or a script. */
const patternFirst = new Set(["awk", "egrep", "fgrep", "gawk", "grep", "jq", "mawk", "nawk", "rg", "sed"])

/** Options of git whose value is text. */
const gitTexts = /^(?:-a?m|--(?:message|grep|author|format|pretty|date|since|until))$/

/** Programs that run text that they are given as commands. */
const shells = /^(?:eval|trap|r?(?:ba|da|k|z)?sh)$/

/** Whether a call may open files that it does not name: a word that only the shell knows, or commands in a text. */
export const opensUnnamed = ({ args, beginning, program, risk }: Invocation): boolean =>
  risk !== undefined && !textual.has(program) && !isBuiltin(program) &&
  ((shells.test(program) && beginning === undefined) ||
    args.some(({ fixed, glob, output }) => !fixed && glob === undefined && output === undefined))

/** Whether a program only redirects: it writes its input to its arguments. */
export const writesOperands = ({ program }: Invocation): boolean => program === "tee" || program === "sponge"

/** Whether a program changes the files that its arguments name because of an option. */
const editsInPlace = ({ args, program }: Invocation): boolean => {
  const has = (form: RegExp) => args.some(({ text }) => form.test(text))
  if (/^(?:awk|gawk|perl|ruby|sed|yq)$/.test(program)) return has(/^-[a-zA-Z0-9]*i|^--in-?place/)
  return /^(?:patch|ed|ex)$/.test(program) || has(/^(?:-w|-i|--write|--fix|--in-place)$/)
}

/** Options whose value is where a program writes. */
const outputs = /^(?:-[oO]|--?(?:dest|out|output|target)[a-z-]*)(?:=.*)?$|^-[oO](?!=)/

/** What else of a call says where it writes: words, options before such a word, or the operand at a place. */
interface Writes {
  readonly words?: RegExp
  readonly after?: RegExp
  readonly at?: number
}

const archive: Writes = {
  after: /^-?[a-zA-Z]*[cruA][a-zA-Z]*f$|^-[fC]$|^--(?:file|directory)$/,
  words: /^--(?:file|directory)=/
}

const writers = lookup<Writes>({
  "7z": { at: 1 },
  ar: { at: 1 },
  bsdtar: archive,
  dd: { words: /^of=/ },
  gtar: archive,
  install: { at: -1, after: /^-t$/ },
  jar: archive,
  ln: { at: -1, after: /^-t$/ },
  rsync: { at: -1 },
  scp: { at: -1 },
  tar: archive,
  unrar: { at: -1 },
  unzip: { after: /^-d$/, words: /^-d./ },
  zip: { at: 0 }
})

/** Whether a program may write to what a word of its call names. */
export const mayWrite = (invocation: Invocation, word: Argument): boolean => {
  const { args, call, program, reads } = invocation
  if (reads) return false
  if (editsInPlace(invocation)) return true
  const at = args.indexOf(word)
  const before = args[at - 1]?.text ?? ""
  if (outputs.test(word.text) || outputs.test(before)) return true
  // Of an option that its table does not have, Skein cannot tell whether it takes the next word.
  if (call?.unknown !== undefined && call.named.some(({ kind }) => kind === "write")) return true
  const { after, at: place, words } = writers[program] ?? {}
  if (words?.test(word.text) === true || after?.test(before) === true) return true
  const operands = args.filter(({ text }) => !/^-./.test(text))
  return place !== undefined && operands.at(place) === word
}

const isPattern = ({ args, program }: Invocation): Argument | undefined => {
  if (!patternFirst.has(program)) return undefined
  const first = args.findIndex(({ text }) => !/^-./.test(text))
  // An option may already contain the pattern. Then the first operand is a file.
  const plain = args.slice(0, Math.max(first, 0)).every(({ text }) =>
    /^-[a-df-zA-Z]+$/.test(text) && !text.includes("f")
  )
  return plain ? args[first] : undefined
}

const isText = ({ args, program }: Invocation, at: number): boolean =>
  program === "git" && gitTexts.test(args[at - 1]?.text ?? "")

/** How many letters may precede the value of an option in the same word. */
const maximumLetters = 6

/** What may be a path in an argument: all of it, the value of an option, or what follows an operator. */
const readings = ({ text }: Argument, clusters: boolean): ReadonlyArray<string> => {
  const plain = home(text)
  const found = plain.startsWith("-") ? [] : [plain]
  if (plain.includes("=")) found.push(plain.slice(plain.indexOf("=") + 1), plain.slice(plain.lastIndexOf("=") + 1))
  const letters = clusters && /^-[A-Za-z]/.test(plain) ? Math.min(plain.length, maximumLetters) : 0
  for (let at = 2; at < letters; at++) found.push(plain.slice(at))
  return found.flatMap((each) => [each, each.replace(/^@/, "")])
}

/** Whether a path is a stream of the process or nothing, rather than a file. */
export const isStream = (path: string): boolean =>
  /^\/dev\/(?:null|zero|full|stdin|stdout|stderr|random|urandom|fd\/\d+)$/.test(path)

/** Longer names cannot be names of files. */
const canBePath = (text: string): boolean =>
  text !== "" && text.length <= 4096 && !isStream(text) &&
  text.split("/").every((name) => Buffer.byteLength(name) <= 255)

/** The directories that the shell's own variables name, as paths. */
const home = (text: string): string =>
  text.replace(/^\$(?:HOME|\{HOME\})(?=\/|$)/, "~").replace(/^\$(?:PWD|\{PWD\})(?=\/|$)/, ".")

/** The possible paths in the arguments of a program without a table. */
export const pathsOf = (invocation: Invocation): ReadonlyArray<NamedText> => {
  const { args, program } = invocation
  if (textual.has(program)) return []
  const pattern = isPattern(invocation)
  // The options of find are words.
  const clusters = program !== "find"
  const found = args.flatMap((word, at) =>
    word === pattern || isText(invocation, at)
      ? []
      : readings(word, clusters).map((text): NamedText => ({ word, text, tells: "maybe" }))
  )
  if (program.includes("/")) found.push({ word: plainWord(program), text: program, tells: "maybe" })
  return found.filter(({ text }) => canBePath(text))
}

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
interface CallFiles {
  readonly named: ReadonlyArray<NamedFile>
  readonly below: ReadonlyArray<ReadBelow>
}

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
  const listed = ofOutputs(invocation)
  if (program === "find" && risk === undefined) {
    return { named: findCall(args).starts.map((word) => ({ word, text: home(word.text), tells: false })), below: [] }
  }
  if (program === "xargs" && risk === undefined) {
    return { named: argumentFiles(args).map((word) => ({ word, text: home(word.text), tells: true })), below: [] }
  }
  if (call !== undefined && call.unknown === undefined && risk === undefined) {
    const { below, named } = ofTable(invocation)
    const own: ReadonlyArray<NamedFile> = program.includes("/")
      ? [{ word: plainWord(program), text: program, tells: false }]
      : []
    return {
      named: [...own, ...named.filter(({ text, word }) => canBePath(text) && word.output === undefined)],
      below: [...below, ...listed]
    }
  }
  return { named: pathsOf(invocation), below: [...listed, ...ofUnknown(call)] }
}
