/** Decides when builtins of bash run the text of their arguments: as names with an index, as code, or as settings. */
import type { Risk } from "./textRisks.ts"
import { isHarmlessToPrograms, isHarmlessToShell, isUnknownToTools } from "./variables.ts"
import type { Argument } from "./words.ts"

const every = (args: ReadonlyArray<Argument>, plain: RegExp): boolean =>
  args.every(({ fixed, text }) => fixed && plain.test(text))

const named = (args: ReadonlyArray<Argument>, harmless: (name: string, source: string) => boolean): boolean =>
  args.every(({ fixed, text }) => {
    const name = /^([A-Za-z_][A-Za-z0-9_]*)(?:$|="[^"]*"$|=[^$`]*$)/.exec(text)?.[1]
    return fixed && name !== undefined && harmless(name, text)
  })

const when = (harmless: boolean, risk: string): Risk => harmless ? undefined : risk

const unary = /^-[abcdefghkLNnOprsStuwxz]$/

const binary = /^(?:==?|!=|<|>|-(?:eq|ne|lt|le|gt|ge|nt|ot|ef))$/

/** Whether a word is exactly one argument, whatever it contains. */
const isOne = ({ source }: Argument): boolean => /^"[^"@*]*"$/.test(source)

/** `test` and `[`: an operand that only the shell knows may turn out to be an operator, which runs what follows it. */
const testRisk = (args: ReadonlyArray<Argument>): Risk => {
  if (args.some(({ text }) => /^-[vR]$/.test(text))) return "test -v may run what a name holds"
  const open = args.filter(({ fixed }) => !fixed)
  if (open.length === 0) return undefined
  if (!open.every(isOne)) return "test may be given more words than one sees"
  const operands = args.at(-1)?.text === "]" ? args.slice(0, -1) : args
  const [first, second, , fourth] = operands[0]?.text === "!" ? operands.slice(1) : operands
  const known = (argument: Argument | undefined, operator: RegExp) =>
    argument !== undefined && argument.fixed && operator.test(argument.text)
  return when(
    fourth === undefined && (known(first, unary) || known(second, binary)),
    "test may be given an operator that nobody sees"
  )
}

const settingRisk = (harmless: (name: string, source: string) => boolean) => (args: ReadonlyArray<Argument>): Risk =>
  when(named(args, harmless), "it sets or changes variables that others go by")

const printfRisk = ([first]: ReadonlyArray<Argument>): Risk =>
  when(
    first === undefined || (first.fixed && !first.text.startsWith("-")) || first.text === "--",
    "printf may set a variable"
  )

const wordRisk = (plain: RegExp, risk: string) => (args: ReadonlyArray<Argument>): Risk =>
  when(every(args, plain), risk)

/** For each builtin that may run something: the reason why a call is not harmless. */
export const builtinRisks: ReadonlyMap<string, (args: ReadonlyArray<Argument>) => Risk> = new Map([
  ["[", testRisk],
  ["declare", settingRisk(isHarmlessToShell)],
  ["export", settingRisk((name, source) => isHarmlessToPrograms(name, source) || isUnknownToTools(name, source))],
  ["local", settingRisk(isHarmlessToShell)],
  ["printf", printfRisk],
  ["read", wordRisk(/^(?:-r|[a-z][a-z0-9_]*)$/, "read may set what it should not, or run an index")],
  ["readonly", settingRisk(isHarmlessToShell)],
  ["set", wordRisk(/^(?:[-+][eux]+o?|pipefail|errexit|nounset)$/, "set changes how the rest is run")],
  ["test", testRisk],
  ["typeset", settingRisk(isHarmlessToShell)],
  ["unset", wordRisk(/^(?:-v|[a-z][a-z0-9_]*)$/, "unset may run an index")],
  ["wait", wordRisk(/^(?:-n|-f|\d+|%\d+)$/, "wait may set a variable")]
])
