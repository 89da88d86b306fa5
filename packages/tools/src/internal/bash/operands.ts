/** Finds all arguments of a program that may name files. */
import type { Invocation } from "./parts.ts"
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

/** Whether a program only redirects: it writes its input to its arguments. */
export const writesOperands = ({ program }: Invocation): boolean => program === "tee" || program === "sponge"

/** Whether a program changes the files that its arguments name because of an option. */
export const editsInPlace = ({ args, program }: Invocation): boolean => {
  const has = (form: RegExp) => args.some(({ text }) => form.test(text))
  if (/^(?:awk|gawk|perl|ruby|sed|yq)$/.test(program)) return has(/^-[a-zA-Z0-9]*i|^--in-?place/)
  if (program === "dd") return has(/^of=/)
  return /^(?:patch|ed|ex)$/.test(program) || has(/^(?:-w|-i|--write|--fix|--in-place)$/)
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
