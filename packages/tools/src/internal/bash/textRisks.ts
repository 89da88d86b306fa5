/** Decides when programs in the languages of `sed` and `awk` do more than read. */
import { isReadingProgram } from "../programs/awkProgram.ts"
import { isReadingScript } from "./sedScript.ts"
import type { Argument } from "./words.ts"

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
