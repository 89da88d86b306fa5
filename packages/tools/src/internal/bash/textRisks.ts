/** Knows when the small languages of `sed`, `awk` and `find` do more than read. */
import { findOption } from "./options.ts"
import { isReadingScript } from "./sedScript.ts"
import type { Argument } from "./words.ts"

/** Why a call does more than it seems to; `undefined` where it does not. */
export type Risk = string | undefined

/** sed with options that only say how to read, and scripts that only read. */
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

/** awk with a program that has no way to write, to run, or to choose what it reads. */
export const awkRisk = (args: ReadonlyArray<Argument>): Risk => {
  const at = args.findIndex(({ text }, index) => !text.startsWith("-F") && args[index - 1]?.text !== "-F")
  const program = args[at]?.text ?? ""
  if (program.startsWith("-")) return `awk ${program} may run something`
  return /[>|@]|system|getline|close|ARG[VC]|ENVIRON|PROCINFO/.test(program)
    ? "this program of awk may write or run something"
    : undefined
}

/** The actions of find that run something, write or remove. */
export const findRisk = (args: ReadonlyArray<Argument>): Risk => {
  const words = [
    "-exec",
    "-execdir",
    "-ok",
    "-okdir",
    "-delete",
    "-fls",
    "-fprint",
    "-fprint0",
    "-fprintf",
    "-L",
    "-follow"
  ]
  const found = findOption(args, { words: [...words, "-files0-from"] })
  return found === undefined ? undefined : `find ${found} does more than to look`
}
