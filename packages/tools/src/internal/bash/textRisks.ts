/** Decides when programs in the languages of `sed` and `awk` do more than read. */
import type { Argument } from "./words.ts"

/** The rest of a script after one piece; `undefined` if there is no such piece. */
type Rest = string | undefined

/** Skips text up to a delimiter without a backslash before it. */
const upTo = (text: string, delimiter: string): Rest => {
  for (let at = 0; at < text.length; at++) {
    const sign = text.charAt(at)
    // If brackets contain a delimiter, programs disagree about where the text ends.
    if (sign === "\n" || (sign === "[" && text.slice(at, text.indexOf("]", at + 2) + 1).includes(delimiter))) {
      return undefined
    }
    if (sign === "\\") at++
    else if (sign === delimiter) return text.slice(at + 1)
  }
  return undefined
}

const address = (text: string): Rest => {
  const number = /^(?:\d+(?:~\d+)?|\$)/.exec(text)
  if (number !== null) return text.slice(number[0].length)
  const rest = text.startsWith("/") ? upTo(text.slice(1), "/") : undefined
  return rest?.replace(/^[IM]+/, "")
}

const addresses = (text: string): Rest => {
  const first = address(text)
  if (first === undefined) return text
  const comma = /^\s*,\s*[+~]?/.exec(first)
  return comma === null ? first : address(first.slice(comma[0].length))
}

/** `s` and `y`: two texts between delimiters. `s` may have flags that only select what is replaced and printed. */
const replacement = (text: string, flags: RegExp): Rest => {
  const delimiter = text.charAt(0)
  if (delimiter === "" || /[\s\\\w]/.test(delimiter)) return undefined
  const first = upTo(text.slice(1), delimiter)
  const second = first === undefined ? undefined : upTo(first, delimiter)
  return second?.replace(flags, "")
}

const piece = (text: string): Rest => {
  const rest = addresses(text)?.replace(/^\s*!?\s*/, "") ?? ""
  const name = rest.charAt(0)
  if (name === "s") return replacement(rest.slice(1), /^[gpiI0-9]*/)
  if (name === "y") return replacement(rest.slice(1), /^/)
  if ("qQ".includes(name) && name !== "") return rest.slice(1).replace(/^\s*\d*/, "")
  return "pdDnNgGhHxPl=".includes(name) && name !== "" ? rest.slice(1) : undefined
}

/** Whether a script only reads its input and writes to its output. */
const isReadingScript = (script: string): boolean => {
  let rest = script.replace(/^[\s;]+/, "")
  while (rest !== "") {
    const left = piece(rest)
    if (left === undefined || !/^\s*(?:[;\n]|$)/.test(left)) return false
    rest = left.replace(/^[\s;]+/, "")
  }
  return true
}

/** Conditions in parentheses, in which `>` compares. */
const condition = /\b(?:if|while)\s*\([^()"'/{}#\n\\]*\)/g

/** Whether a program only reads its input, and prints. */
const isReadingProgram = (program: string): boolean => {
  if (/@|system|getline|close|fflush|ARG[VC]|ENVIRON|PROCINFO|\binclude\b|\bload\b/.test(program)) return false
  // Before its first brace, a program only compares. A quoted text there may contain a brace.
  const [before = ""] = program.split("{", 1)
  const compares = /["/]/.test(before) ? before : before.replaceAll(">", "")
  const rest = compares + program.slice(before.length).replace(condition, "")
  return !/>|\|/.test(rest.replaceAll("||", ""))
}

/** Why a call does more than it seems to; `undefined` if it does not. */
export type Risk = string | undefined

/** sed with options that only control reading, and scripts that only read. */
export const sedRisk = (args: ReadonlyArray<Argument>): Risk => {
  const scripts: Array<string> = []
  const others: Array<string> = []
  for (let at = 0; at < args.length; at++) {
    const text = args[at]?.text ?? ""
    if (text === "-e" || /^-[nErsuz]+e$/.test(text)) scripts.push(args[++at]?.text ?? "")
    else if (/^-(?:[nErsuz]+|-(?:quiet|silent|regexp-extended|separate|unbuffered|null-data))$/.test(text)) continue
    else if (/^-./.test(text)) return `sed ${text} may write or run something`
    else others.push(text)
  }
  if (scripts.length === 0) scripts.push(...others.slice(0, 1))
  return scripts.every(isReadingScript) ? undefined : "this script of sed may write or run something"
}

/** awk with a program that cannot write, run commands, or choose its input. */
export const awkRisk = (args: ReadonlyArray<Argument>): Risk => {
  const at = args.findIndex(({ text }, index) => !/^-[Fv]/.test(text) && !/^-[Fv]$/.test(args[index - 1]?.text ?? ""))
  const program = args[at]
  if (program === undefined) return undefined
  if (program.text.startsWith("-")) return `awk ${program.text} may run something`
  return program.fixed && isReadingProgram(program.text) ? undefined : "this program of awk may write or run something"
}
