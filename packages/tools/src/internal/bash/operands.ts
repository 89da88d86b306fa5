/** Finds all arguments of a program that may name files. */
import { lookup } from "@skein/domain/Lookup"
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
  const home = text.replace(/^\$(?:HOME|\{HOME\})(?=\/|$)/, "~").replace(/^\$(?:PWD|\{PWD\})(?=\/|$)/, ".")
  const found = home.startsWith("-") ? [] : [home]
  if (home.includes("=")) found.push(home.slice(home.indexOf("=") + 1), home.slice(home.lastIndexOf("=") + 1))
  const letters = clusters && /^-[A-Za-z]/.test(home) ? Math.min(home.length, maximumLetters) : 0
  for (let at = 2; at < letters; at++) found.push(home.slice(at))
  return found.flatMap((each) => [each, each.replace(/^@/, "")])
}

/** Longer names cannot be names of files. */
const canBePath = (text: string): boolean =>
  text !== "" && text.length <= 4096 && text.split("/").every((name) => Buffer.byteLength(name) <= 255)

/** Whether a path is a stream of the process or nothing, rather than a file. */
export const isStream = (path: string): boolean =>
  /^\/dev\/(?:null|zero|full|stdin|stdout|stderr|random|urandom|fd\/\d+)$/.test(path)

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
  return found.filter(({ text }) => canBePath(text) && !isStream(text))
}
