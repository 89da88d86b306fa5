/** Knows the calls of git that only do what their name says: git also runs programs that its options and config name. */
import { findOption } from "./options.ts"
import type { Risk } from "./textRisks.ts"
import type { Argument } from "./words.ts"

/** Options before the subcommand that change nothing but how much is said. */
const quiet = /^(?:--no-pager|-P|--no-optional-locks|--no-replace-objects|--literal-pathspecs|--version)$/

/** What git does by itself, of which we know the options. Anything else may be an alias, or a program of that name. */
const subcommands = new Set(
  `add blame branch cat-file check-attr check-ignore checkout cherry cherry-pick clean commit count-objects describe diff
  diff-files diff-index diff-tree fetch for-each-ref grep log ls-files ls-remote ls-tree merge merge-base mv name-rev pull
  push range-diff rebase reflog remote reset restore rev-list rev-parse revert rm shortlog show show-branch show-ref stash
  status switch tag version whatchanged`.split(/\s+/)
)

/** Options of any subcommand that name a program, a repository, a config or a file to write. */
const long = [
  "config",
  "config-env",
  "edit",
  "edit-description",
  "exec",
  "exec-path",
  "ext-diff",
  "extcmd",
  "filters",
  "git-dir",
  "gpg-sign",
  "help",
  "interactive",
  "local-user",
  "open-files-in-pager",
  "output",
  "output-directory",
  "receive-pack",
  "recurse-submodules",
  "separate-git-dir",
  "show-signature",
  "sign",
  "signed",
  "strategy",
  "template",
  "textconv",
  "tool",
  "upload-pack",
  "verify-signatures",
  "work-tree"
]

const short: Readonly<Record<string, string>> = {
  add: "eip",
  checkout: "p",
  "cherry-pick": "eS",
  commit: "eSp",
  grep: "O",
  merge: "eSs",
  pull: "eSs",
  rebase: "ixSs",
  reset: "p",
  restore: "p",
  revert: "eS",
  tag: "esuv"
}

/** Why a call of git may run something else; `moved` where it may stand in a directory that holds another repository. */
export const gitRisk = (args: ReadonlyArray<Argument>, moved: boolean): Risk => {
  if (moved) return "git runs what the config of a directory says, and the line changes its directory"
  const at = args.findIndex(({ text }) => !quiet.test(text))
  const name = args[at]?.text
  if (name === undefined) return undefined
  if (!subcommands.has(name)) return `git ${name} may run other programs`
  const rest = args.slice(at + 1)
  const found = findOption(rest, { long, short: short[name] ?? "" })
  if (found !== undefined) return `git ${name} ${found} may run or write something else`
  if (name in short && rest.some(({ text }) => /^--patch$/.test(text))) return `git ${name} --patch asks at a terminal`
  if (rest.some(({ text }) => /^ext::|%G|%\(signature/.test(text))) {
    return `git ${name} may run other programs with this`
  }
  if (name === "pull" && rest.some(({ text }) => /^(?:-r|--rebase=)[im]/.test(text))) {
    return "git pull may ask an editor"
  }
  const first = rest.find(({ text }) => !/^(?:-v|--verbose)$/.test(text))
  return name === "remote" && first !== undefined && !/^(?:show|get-url)$/.test(first.text)
    ? "git remote changes where code comes from"
    : undefined
}
