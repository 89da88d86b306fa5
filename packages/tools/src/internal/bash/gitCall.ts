/**
 * Reads a git call: its directory, its subcommand, whether it does more than its name says, and which files it shows.
 * Rules for reading apply to those.
 */
import * as Wildcard from "@skein/core/Ruleset"
import { lookup } from "@skein/domain/Lookup"
import { posix } from "node:path"
import { type Call, type KnownCall, readCall, tableFor } from "../programs/programs.ts"
import type { Invocation } from "./parts.ts"
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

const hasOption = ({ call: { options } }: KnownCall<Argument>, names: RegExp): boolean =>
  options.some((each) => names.test(each))

/** Commands that only do what their name says if their first operand is one of these, and what they do otherwise. */
const plainForms = lookup<readonly [first: RegExp, risk: string]>({
  bisect: [/^(?:bad|good|log|new|old|reset|skip|start)$/, "may run a command"],
  notes: [/^(?:add|append|copy|list|show|remove)?$/, "may do more than to add a note"],
  remote: [/^(?:show|get-url)?$/, "changes where code comes from"],
  submodule: [/^(?:init|status|summary)?$/, "runs commands or hooks in submodules"],
  worktree: [/^list$/, "may check files out elsewhere"]
})

/** Why a command may change what git runs or contacts. */
const subRisk = (sub: string, known: KnownCall<Argument>): Risk => {
  const helper = known.call.named.find(({ text }) => /^[\w+.-]*::/.test(text))
  if (helper !== undefined) return `git may run a program for ${helper.text}`
  const form = plainForms[sub]
  if (form !== undefined) return form[0].test(operandsOf(known)[0] ?? "") ? undefined : `git ${sub} ${form[1]}`
  if (sub === "config") return isConfigRead(known) ? undefined : "git config may change what git runs"
  if (sub === "apply") {
    return hasOption(known, /^--(?:check|stat|numstat|summary)$/)
      ? undefined
      : "git apply changes files that only the patch names"
  }
  return known.call.named.some(({ text }) => /%G|%\(signature/.test(text))
    ? `git ${sub} may run gpg with this`
    : undefined
}

const isConfigRead = (known: KnownCall<Argument>): boolean =>
  hasOption(known, /^(?:--get|--get-all|--get-regexp|--list|-l|--get-color)$/) ||
  (operandsOf(known).length === 1 && !/^(?:edit|unset|set)$/.test(operandsOf(known)[0] ?? ""))

/** A list of all settings, and some single settings, reveal what git sends to servers. */
const tellsNoSecret = (known: KnownCall<Argument>): boolean =>
  !hasOption(known, /^(?:--list|-l|--get-regexp)$/) && operandsOf(known)[0] !== "list" &&
  !operandsOf(known).some((key) => /header|credential|token|password|insteadof|proxy|cookie/i.test(key))

/** Commands that only read in some of their forms: with this first operand, without and with these options. */
const readingForms = lookup<{ readonly first?: RegExp; readonly without?: RegExp; readonly with?: RegExp }>({
  branch: {
    without: /^(?:-[dDmMcCfut]|--(?:delete|move|copy|force|set-upstream-to|unset-upstream|track|create-reflog))$/,
    with: /^(?:-l|--list|--merged|--no-merged|--contains|--no-contains|--points-at)$/
  },
  reflog: { first: /^(?!(?:expire|delete|exists)$)/ },
  remote: { first: /^(?:get-url)?$/ },
  stash: { first: /^(?:list|show)$/ },
  tag: {
    without: /^(?:-[admf]|--(?:annotate|delete|force|message|create-reflog|cleanup))$/,
    with: /^(?:-l|--list|-n|--contains|--points-at|--merged)$/
  },
  worktree: {}
})

const readsSometimes = (sub: string, known: KnownCall<Argument>): boolean => {
  if (sub === "config") return tellsNoSecret(known)
  const form = readingForms[sub]
  const [operand] = operandsOf(known)
  return form !== undefined && form.first?.test(operand ?? "") !== false &&
    (form.without === undefined || !hasOption(known, form.without)) &&
    (form.with === undefined || operand === undefined || hasOption(known, form.with))
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

/** What a call shows. */
export interface Shown {
  /** Whether it may show files of any commit. */
  readonly ever: boolean
  /** Words that may be paths, relative to where git works. Only those that exist limit what is shown. */
  readonly paths: ReadonlyArray<string>
  /** Words that are paths, whether they exist or not. */
  readonly surePaths: ReadonlyArray<string>
  /** Paths that follow a commit, from the top of the repository. Nothing else is shown then. */
  readonly ofCommit?: ReadonlyArray<string>
}

const patch =
  /^(?:-p|-u|--patch|-U.*|--unified|-W|--function-context|-c|--cc|--remerge-diff|--color-words|--word-diff|--binary|-L)$/

/** Options that show only names or figures. */
const summary =
  /^(?:--stat|--numstat|--shortstat|--dirstat|--summary|--compact-summary|--name-only|--name-status|--raw|-s|--no-patch|--check|--quiet|-q)$/

/** Commands that show no contents, whatever their options are. Any other one may, also an alias. */
const silent = new Set(
  ["add", "apply", "bisect", "branch", "check-attr", "check-ignore", "cherry-pick", "clean", "commit-tree", "config"]
    .concat(["count-objects", "describe", "fetch", "for-each-ref", "fsck", "gc", "hash-object", "init", "ls-files"])
    .concat(`ls-remote ls-tree maintenance merge merge-base mktree mv name-rev notes pack-refs`.split(/\s+/))
    .concat(["prune", "pull", "push", "rebase", "remote", "repack", "reset", "rev-list", "rev-parse", "revert", "rm"])
    .concat(["shortlog", "submodule", "switch", "symbolic-ref", "tag", "update-index", "update-ref", "var", "version"])
    .concat(["write-tree", "help", "--version", "--help"])
)

const isShown = (sub: string, options: ReadonlyArray<string>, operands: ReadonlyArray<string>): boolean => {
  const patches = options.some((each) => patch.test(each))
  const summed = options.some((each) => summary.test(each))
  switch (sub) {
    case "blame":
    case "grep":
    case "cat-file":
      return !(sub === "cat-file" && options.some((each) => /^-[ets]$/.test(each)))
        && !(sub === "grep" &&
          options.some((each) =>
            /^(?:-[lLcq]|--(?:files-with(?:out)?-match(?:es)?|name-only|count|quiet))$/.test(each)
          ))
    case "diff":
    case "show":
      return patches || !summed
    case "diff-files":
    case "diff-index":
    case "diff-tree":
    case "log":
    case "range-diff":
    case "reflog":
    case "whatchanged":
      return patches || sub === "range-diff"
    case "stash":
      return patches
    case "am":
    case "rebase":
      return options.includes("--show-current-patch")
    case "commit":
    case "status":
      return options.some((each) => /^(?:-v|--verbose)$/.test(each))
    case "checkout":
    case "restore":
      return options.some((each) => each.startsWith("--work-tree"))
    case "worktree":
      return operands[0] === "add"
    case "clone":
      return !operands.some((each) => /^[a-z][a-z+]*:\/\/|^[\w.-]+@[\w.-]+:/i.test(each))
    default:
      return !silent.has(sub)
  }
}

/** Options with which git compares contents, whether or not it shows them. */
const comparing = /^(?:-[GILS]|--(?:check|exit-code|ignore-.*|pickaxe.*))$/

/** Whether a git call may compare the contents of files, so that programs of the config convert or compare them. */
export const mayCompare = (sub: string, { operands, options }: Call<Argument>): boolean =>
  /^(?:am|apply|diff|stash)/.test(sub) || isShown(sub, options, operands.map(({ text }) => text)) ||
  options.some((each) => patch.test(each) || comparing.test(each))

/** Whether words ask for the parts of changes one by one. */
const picks = (options: ReadonlyArray<string>): boolean => options.some((each) => /^(?:-p|--patch)$/.test(each))

/** Commands whose words say which files they show. */
const limited = new Set(
  `blame cat-file commit diff diff-files diff-index diff-tree grep log range-diff rebase`.split(/\s+/)
    .concat(["reflog", "show", "stash", "status", "whatchanged"])
)

/** What follows each colon of a word. */
const suffixesOf = (text: string): ReadonlyArray<string> =>
  text.split(":").slice(1).map((_, at, all) => all.slice(at).join(":"))

/** What a git call shows of tracked files; `undefined` if nothing. What is not known of a call may show everything. */
export const shownBy = ({ args, call, program }: Invocation): Shown | undefined => {
  if (program !== "git") return undefined
  const { head, sub } = gitCall(args)
  if (sub === undefined) return undefined
  if (call === undefined || call.unknown !== undefined || !limited.has(sub)) {
    const words = args.slice(head - 1).map(({ text }) => text)
    const options = words.filter((each) => each.startsWith("-"))
    const operands = words.filter((each) => !each.startsWith("-"))
    const shows = /^(?:blame|cat-file|diff.*|grep|log|range-diff|show|whatchanged)$/.test(sub)
      || isShown(sub, options, operands) || picks(options)
    return shows ? { ever: true, paths: [], surePaths: [] } : undefined
  }
  const operands = call.operands.map(({ text }) => text)
  if (!isShown(sub, call.options, operands)) return undefined
  const end = args.findIndex(({ text }) => text === "--")
  const behind = end < 0 ? [] : args.slice(end + 1).map(({ text }) => text)
  const before = operands.slice(sub === "grep" && !call.options.includes("-e") ? 1 : 0, operands.length - behind.length)
  const ofCommit = before.flatMap((text) => suffixesOf(text).filter((path) => !/^\.\.?\//.test(path)))
  if (
    /^(?:show|cat-file)$/.test(sub) && before.length > 0 && args.every(({ fixed }) => fixed) &&
    before.every((text) => /^[^:]+:[^:]/.test(text))
  ) return { ever: true, paths: [], surePaths: [], ofCommit }
  const isOfNow = /^(?:status|grep|blame)$/.test(sub) || (sub === "diff" && before.length === 0) || sub === "diff-files"
  const limits = sub !== "cat-file" && sub !== "stash" && sub !== "range-diff"
  return {
    ever: !isOfNow || before.some((text) => /^[0-9a-f]{4,40}$|[~^:@]|\.\.|HEAD/.test(text)) ||
      (sub !== "blame" && !limits),
    paths: limits ? before : [],
    surePaths: limits ? behind : []
  }
}

/** What a call puts into the repository or searches of files that git does not track; `undefined` if nothing. */
interface Collected {
  /** Whether also of those that it ignores. */
  readonly ignored: boolean
  /** The words that may limit it. */
  readonly paths: ReadonlyArray<string>
}

/** Finds that. The contents of such a file can be shown from then on, by its hash alone. */
export const collectedBy = ({ args, program }: Invocation): Collected | undefined => {
  if (program !== "git") return undefined
  const { head, sub } = gitCall(args)
  const words = args.slice(head - 1).map(({ text }) => text)
  const has = (form: RegExp) => words.some((each) => form.test(each))
  const paths = words.filter((each) => !each.startsWith("-"))
  switch (sub) {
    case "add":
    case "stage":
      return has(/^(?:-[a-z]*n[a-z]*|--dry-run|-u|--update|--refresh)$/)
        ? undefined
        : { ignored: has(/^(?:-[a-zA-Z]*f[a-zA-Z]*|--force)$/), paths }
    case "stash":
      return has(/^(?:-[a-z]*[ua][a-z]*|--include-untracked|--all)$/) ? { ignored: true, paths: [] } : undefined
    case "grep":
      return has(/^--(?:no-index|untracked)/) ? { ignored: true, paths: [] } : undefined
    default:
      return undefined
  }
}

const isPattern = (text: string): boolean => /[*?[\\]/.test(text)

const fits = (path: string, name: string): boolean => {
  const plain = posix.normalize(path).replace(/\/$/, "")
  return plain === "." || name === plain || name.startsWith(`${plain}/`) ||
    (isPattern(path) && Wildcard.glob(path, name))
}

/** Whether these pathspecs may include a file; without pathspecs, every file. */
export const mayBeNamed = (specifications: ReadonlyArray<string>, name: string): boolean => {
  const excluded = specifications.flatMap((each) => /^:(?:[!^]|\(exclude\))([^:([].*)$/.exec(each)?.[1] ?? [])
  // In pathspecs, git interprets brackets and backslashes, so such patterns exclude nothing here.
  if (excluded.some((each) => !/[[\\]/.test(each) && fits(each, name))) return false
  const named = specifications.filter((each) => !/^:(?:[!^]|\(exclude\))/.test(each))
  return named.length === 0 || named.some((each) => each.startsWith(":") || /[[\\]/.test(each) || fits(each, name))
}
