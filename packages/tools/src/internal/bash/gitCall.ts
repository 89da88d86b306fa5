/** Reads a git call: its directory, its subcommand, and whether it does more than the subcommand's name says. */
import { type KnownCall, tableFor } from "../programs/programs.ts"
import { readCall } from "../programs/readCall.ts"
import type { Risk } from "./textRisks.ts"
import type { Argument } from "./words.ts"

/** Options before the command that only change the amount of output. */
const quiet = /^(?:--no-pager|-P|--no-optional-locks|--no-replace-objects|--literal-pathspecs|--version)$/

/** A git call. */
export interface GitCall {
  /** The directories of `-C`, in order. */
  readonly directories: ReadonlyArray<Argument>
  /** The number of words up to and including its subcommand. */
  readonly head: number
  readonly sub: string | undefined
  readonly risk: Risk
  readonly reads: boolean
  readonly known: KnownCall<Argument> | undefined
}

const operandsOf = (known: KnownCall<Argument>): ReadonlyArray<string> =>
  known.call.named.flatMap(({ operand, text }) => operand ? [text] : [])

const has = ({ call: { options } }: KnownCall<Argument>, names: RegExp): boolean =>
  options.some((each) => names.test(each))

/** Why a command may change what git runs or contacts. */
const subRisk = (sub: string, known: KnownCall<Argument>): Risk => {
  const [first] = operandsOf(known)
  const helper = known.call.named.find(({ text }) => /^[\w+.-]*::/.test(text))
  if (helper !== undefined) return `git may run a program for ${helper.text}`
  switch (sub) {
    case "config":
      return isConfigRead(known) ? undefined : "git config may change what git runs"
    case "remote":
      return first === undefined || /^(?:show|get-url)$/.test(first)
        ? undefined
        : "git remote changes where code comes from"
    case "submodule":
      return first === undefined || /^(?:init|status|summary)$/.test(first)
        ? undefined
        : "git submodule runs commands or hooks in submodules"
    case "bisect":
      return /^(?:bad|good|log|new|old|reset|skip|start)$/.test(first ?? "")
        ? undefined
        : "git bisect may run a command"
    case "notes":
      return /^(?:add|append|copy|list|show|remove)?$/.test(first ?? "")
        ? undefined
        : "git notes may do more than to add a note"
    case "apply":
      return has(known, /^--(?:check|stat|numstat|summary)$/)
        ? undefined
        : "git apply changes files that only the patch names"
    case "worktree":
      return first === "list" ? undefined : "git worktree may check files out elsewhere"
    default:
      return known.call.named.some(({ text }) => /%G|%\(signature/.test(text))
        ? `git ${sub} may run gpg with this`
        : undefined
  }
}

const isConfigRead = (known: KnownCall<Argument>): boolean =>
  has(known, /^(?:--get|--get-all|--get-regexp|--list|-l|--get-color)$/) ||
  (operandsOf(known).length === 1 && !/^(?:edit|unset|set)$/.test(operandsOf(known)[0] ?? ""))

/** Commands that only read in some of their forms. */
const readsSometimes = (sub: string, known: KnownCall<Argument>): boolean => {
  const [first] = operandsOf(known)
  switch (sub) {
    case "config":
      // A list of all settings, and some single settings, reveal what git sends to servers.
      return !has(known, /^(?:--list|-l|--get-regexp)$/) && operandsOf(known)[0] !== "list" &&
        !operandsOf(known).some((key) => /header|credential|token|password|insteadof|proxy|cookie/i.test(key))
    case "worktree":
      return true
    case "remote":
      return first === undefined || first === "get-url"
    case "stash":
      return first === "list" || first === "show"
    case "branch":
      return !has(
        known,
        /^(?:-[dDmMcCfut]|--(?:delete|move|copy|force|set-upstream-to|unset-upstream|track|create-reflog))$/
      ) &&
        (first === undefined || has(known, /^(?:-l|--list|--merged|--no-merged|--contains|--no-contains|--points-at)$/))
    case "tag":
      return !has(known, /^(?:-[admf]|--(?:annotate|delete|force|message|create-reflog|cleanup))$/) &&
        (first === undefined || has(known, /^(?:-l|--list|-n|--contains|--points-at|--merged)$/))
    case "reflog":
      return first === undefined || first === "show" || !/^(?:expire|delete|exists)$/.test(first)
    default:
      return false
  }
}

/** Commands that run hooks of the repository. */
const hooked =
  /^(?:add|am|bisect|checkout|cherry-pick|commit|fetch|gc|merge|mv|pull|push|rebase|reset|restore|revert|rm|stash|switch|tag|branch)$/

/** Whether a command may run more hooks than any other git call does. */
export const runsHooks = ({ reads, sub = "" }: GitCall): boolean => !reads && hooked.test(sub)

/** Reads it. */
export const gitCall = (args: ReadonlyArray<Argument>): GitCall => {
  const directories: Array<Argument> = []
  let at = 0
  for (; at < args.length; at++) {
    const word = args[at] as Argument
    if (word.fixed && word.text === "-C" && args[at + 1]?.fixed === true) directories.push(args[++at] as Argument)
    else if (!word.fixed || !quiet.test(word.text)) break
  }
  const command = args[at]
  const sub = command?.text
  const base = { directories, head: at + 2, sub, known: undefined, reads: false }
  if (sub === undefined) return { ...base, risk: undefined, reads: true }
  const name = `git ${sub}`
  const table = command?.fixed === true ? tableFor(name) : undefined
  if (table === undefined) return { ...base, risk: `${name} may run other programs` }
  const known = { name, table, call: readCall(table, args.slice(at + 1)) }
  const reads = (sub === "reflog" ? false : !table.acts) || readsSometimes(sub, known)
  return { ...base, known, reads, risk: subRisk(sub, known) }
}
