/** Decides which rules the answer `always` stores for a command line: one for each program, as narrow as is useful. */
import { lookup } from "@skein/domain/Lookup"
import type { Invocation, Parts } from "./parts.ts"
import { isInterpreter } from "./risks.ts"
import type { Argument } from "./words.ts"

/** Programs with subcommands, and how many words name the subcommand. */
const subcommands = lookup<number>(Object.fromEntries([
  ...`apt apt-get brew bundle cargo composer dotnet git go gradle helm kubectl mvn npm pip pnpm poetry rustup
  terraform uv yarn`.split(/\s+/).map((name) => [name, 1] as const),
  ...["aws", "az", "gcloud", "gh", "npm run", "pnpm run", "yarn run"].map((name) => [name, 2] as const)
]))

/** Commands of programs that are groups of commands. */
const groups = /^(?:docker|nerdctl|podman) (?:buildx|compose|container|image|network|system|volume)$/

/** How many words name the subcommand of a call; one for a program that nothing is known about. */
export const subcommandWords = (program: string, args: ReadonlyArray<Argument>): number => {
  const starts = args.slice(0, 8).map(({ text }) => `${program} ${text}`)
  return starts.some((each) => subcommands[each] === 2 || groups.test(each)) ? 2 : subcommands[program] ?? 1
}

/** Whether a program is known to have subcommands. */
export const namesSubcommands = (program: string): boolean => subcommands[program] !== undefined

/** Programs that change or send so much that a rule must name the whole call. */
const weighty = new Set(
  `chgrp chmod chown cp curl install kill killall ln mkdir mv pkill rm rmdir rsync tee touch truncate wget`.split(/\s+/)
)

/** Interpreters that run a file or a text from their first argument, or else their input. */
const runners =
  /^(?:ash|bash|bun|dash|deno|fish|ksh|lua|luajit|mksh|node|nodejs|perl|php|pypy|python|rbash|rksh|ruby|Rscript|rzsh|sh|ts-node|tsx|yash|zsh)(?:[\d.]+(?:-[\w.-]+)?)?$/

/** Whether a program runs the file or the text that follows it. */
export const runsText = (program: string): boolean => runners.test(program)

/** Programs that run their input, whatever their arguments are. */
const listeners = new Set(
  `. at batch busybox capsh crontab csh ed editor elvish emacs ex expect gdb ghci irb jshell julia lldb lua m4 mariadb mysql nc ncat nu nvim
  octave parallel patch pee powershell psql pwsh R sftp socat source sqlite sqlite3 ssh tclsh telnet vi vim vim.basic vim.gtk3 vim.nox vim.tiny vimdiff sensible-editor view wish xargs
  xonsh`.split(/\s+/)
)

const isStream = (text: string): boolean => text === "-" || /^\/(?:dev|proc)\//.test(text)

const nameOf = (program: string): string => program.slice(program.lastIndexOf("/") + 1)

/** Whether an interpreter runs its input, because its arguments name no file and no code. */
export const obeysInput = ({ args, program }: Pick<Invocation, "args" | "program">): boolean => {
  const [first, second] = args.map(({ text }) => text)
  if (!runners.test(nameOf(program))) return false
  if (first === undefined) return true
  return first.startsWith("-") && (second === undefined || !/^-(?:[a-z]*c|[np]?e|m|-eval)$/.test(first))
}

/** Whether a program may get instructions from its input. No rule can name those. */
const mayObeyInput = (invocation: Invocation): boolean => {
  const { args, program, risk } = invocation
  const name = nameOf(program)
  const words = args.map(({ text }) => text)
  if (listeners.has(name) || (risk !== undefined && words.some(isStream))) return true
  // `find -exec sh ;`, `uv run python`: the started program has no arguments.
  if (!isInterpreter(name)) {
    const last = words.filter((_, at) => [undefined, ";"].includes(words[at + 1]))
    return risk !== undefined && last.some((word) => isInterpreter(nameOf(word)))
  }
  return runners.test(name) ? obeysInput(invocation) : words.some((word) => isInterpreter(nameOf(word)))
}

const isWord = (text: string | undefined): text is string => text !== undefined && /^[\w:@.-]+$/.test(text)

const startsWith = (program: string, words: ReadonlyArray<string>): string | undefined =>
  !/[*?]/.test(program) && words.every((text) => isWord(text) && !text.startsWith("-"))
    ? [program, ...words, "*"].join(" ") :
    undefined

/** `git -C packages/a status` in any sibling directory. */
const elsewhere = ({ args, program }: Invocation): string | undefined => {
  const [flag, place, word] = args.map(({ text }) => text)
  if (program !== "git" || flag !== "-C" || place === undefined || !isWord(word) || word.startsWith("-")) {
    return undefined
  }
  if (!/^(?!\.\.)[\w.@-]+(?:\/(?!\.\.)[\w.@-]+)*$/.test(place)) return undefined
  const beside = place.includes("/") ? `${place.slice(0, place.lastIndexOf("/"))}/*` : place
  return `git -C ${beside} ${word} *`
}

/** A rule for a program that runs others names the wrapper, the program, and its subcommand: `npx vitest run *`. */
const carried = ({ beginning, pattern }: Invocation): string | undefined => {
  // A rule for a script names the whole call: Skein cannot tell what the script does with other arguments.
  const isNamed = beginning !== undefined && pattern.startsWith(beginning) && / [\w@:-]+(?:\/[\w-]+)?$/.test(beginning)
  if (!isNamed || /[*?]/.test(beginning)) return undefined
  const [next = ""] = pattern.slice(beginning.length).trim().split(" ", 1)
  return /^[a-z][a-z:-]*$/.test(next) ? `${beginning} ${next} *` : `${beginning} *`
}

/** The rule for one program, or the whole call if a rule would cover more than its words say. */
const ruleFor = (invocation: Invocation): string | undefined => {
  const { args, pattern, program, risk } = invocation
  const itself = /[*?]/.test(pattern) ? undefined : pattern
  if (weighty.has(program)) return itself
  if (risk !== undefined) return carried(invocation) ?? itself
  const [first] = args
  // The first word of what is not known may be a subcommand, beside which there are others.
  const unlisted = invocation.runsProject === true && /^[a-z][a-z-]*$/.test(first?.text ?? "") ? 1 : 0
  const words = subcommands[`${program} ${first?.text}`] ?? subcommands[program] ?? unlisted
  const leading = args.slice(0, words).map(({ text }) => text)
  return (leading.length === words && words > 0 ? startsWith(program, leading) : undefined)
    ?? elsewhere(invocation) ?? (words === 0 ? startsWith(program, []) : undefined) ?? itself
}

/** The rules; none if the line is not fully known, or if a rule would cover more than its words say. */
export const offersFor = ({ invocations, settings, unclear }: Parts): ReadonlyArray<string> => {
  const known = unclear === undefined && settings.length === 0 &&
    invocations.every((each) => each.args.every(({ fixed }) => fixed) && !mayObeyInput(each))
  const rules = invocations.map(ruleFor)
  return known && rules.every((rule) => rule !== undefined) ? [...new Set(rules)] : []
}
