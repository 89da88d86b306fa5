/**
 * Decides how a rule has to begin if it allows a program that runs others. It has to name what is run, so that its
 * wildcard only covers the arguments of that.
 */
import { lookup } from "@skein/domain/Lookup"

/** Options before the name of a script that do not change what an interpreter runs. */
const plainOptions = lookup<RegExp>({
  bash: /^-[eux]+$/,
  bunx: /^$/,
  java: /^-X(?:mx|ms|ss)\w+$/,
  node:
    /^--(?:no-warnings|enable-source-maps|check|experimental-strip-types|test|watch|trace-warnings|no-deprecation)$/,
  npx: /^(?:-y|--yes|--no-install|-q|--quiet|--no)$/,
  perl: /^-[wT]+$/,
  php: /^$/,
  python: /^-[uBOEsSIdv]+$/,
  ruby: /^-w$/,
  sh: /^-[eux]+$/,
  uvx: /^$/
})

/** Programs with subcommands, and the subcommands after which a wildcard only covers details. */
const subcommands = lookup<RegExp>({
  bun: /^(?:test|install|add|remove|update|outdated|pm ls|run [\w:./-]+|x [\w@/.-]+|[\w@./-]+\.[cm]?[jt]sx?)$/,
  bundle: /^(?:install|exec [\w.-]+|list|show|outdated)$/,
  busctl: /^(?:list|status|tree)$/,
  cargo: /^run$/,
  cmake: /^(?:--build|--version)$/,
  conda: /^(?:list|info|env list)$/,
  deno: /^(?:test|lint|fmt|check|task [\w:.-]+)$/,
  docker:
    /^(?:ps|images|logs|version|info|inspect|stats|top|port|history|diff|events|build|pull|stop|start|restart|rm|rmi|(?:compose|container|image|volume|network|system) (?:ps|ls|list|logs|config|images|top|version|inspect|df|up|down|build|restart|stop|start|pull))$/,
  go: /^(?:generate|run [\w./-]+|tool [\w./-]+)$/,
  kubectl: /^(?:get|describe|logs|top|version|explain|api-resources)$/,
  npm: /^exec(?: --)? [\w@/.-]+$/,
  pipenv: /^run [\w.-]+$/,
  pnpm: /^(?:(?:exec|dlx) [\w@/.-]+|(?!(?:exec|dlx|config|create|x)$)[a-z][\w.:-]*)$/,
  podman: /^(?:ps|images|logs|version|info|inspect|stats|top|port|history|diff)$/,
  poetry: /^run [\w.-]+$/,
  swift: /^(?:build|test|package [\w-]+)$/,
  systemctl: /^(?:status|list-units|list-timers|is-active|is-enabled|show|cat)$/,
  uv: /^(?:run [\w.-]+|sync|lock|pip (?:list|show|freeze|install)|tree|tool list)$/,
  yarn:
    /^(?:(?:exec|dlx|run) [\w@/.-]+|(?!(?:exec|dlx|config|create|plugin|policies|run|set|workspaces?)$)[a-z][\w.:-]*)$/
})

/** Programs whose first operand is a script, a module or a package to run. */
const aliases: ReadonlyArray<readonly [RegExp, string]> = [
  [/^python[\d.]*$|^pypy[\d.]*$/, "python"],
  [/^(?:node|nodejs|tsx|ts-node)[\d.]*$/, "node"],
  [/^(?:bash|dash|zsh)$/, "bash"],
  [/^sh$/, "sh"],
  [/^ruby[\d.]*$/, "ruby"],
  [/^perl[\d.]*$/, "perl"],
  [/^php[\d.]*$/, "php"],
  [/^(?:npx|pnpx|bunx|uvx)$/, "npx"],
  [/^java$/, "java"]
]

/** Programs that run another one. If that is an interpreter, the rule has to name what it runs as well. */
const carriers = /^(?:bun|bundle|bunx|npm|npx|pipenv|pnpm|pnpx|poetry|uv|uvx|yarn)$/

/** What those of them do that runs no program named in the call. */
const ownWork = /^bun (?!x$)|^uv (?:sync|lock|pip|tree|tool)$|^bundle (?!exec$)/

const isName = (text: string | undefined): text is string => text !== undefined && /^[\w@./:+][\w@./:+-]*$/.test(text)

/** Whether a word only selects or formats tests. */
const isPlainForTests = (word: string): boolean =>
  !word.startsWith("-") ||
  /^--(?:test-(?:name-pattern|skip-pattern|concurrency|timeout|shard)=.*|test-(?:only|force-exit|update-snapshots)|test-reporter=(?:spec|tap|dot|junit|lcov)|experimental-test-coverage|no-warnings|watch)$/
    .test(word)

const scripted = (kind: string, words: ReadonlyArray<string>): number | undefined => {
  let at = 1
  while (plainOptions[kind]?.test(words[at] ?? "") === true && words[at] !== "") at++
  if (kind === "python" && words[at] === "-m") return isName(words[at + 1]) ? at + 2 : undefined
  if (kind === "java" && words[at] === "-jar") return isName(words[at + 1]) ? at + 2 : undefined
  if (kind === "node" && words[at - 1] === "--test") return words.slice(at).every(isPlainForTests) ? at : undefined
  return isName(words[at]) && !/^\/(?:dev|proc)\//.test(words[at] ?? "") ? at + 1 : undefined
}

/** How a call begins. */
export interface Beginning {
  /** How many words a rule that is narrower than the program's name has to name. */
  readonly count: number
  /** Whether this is what the program is usually run for, so that a rule for its name is enough. */
  readonly ordinary: boolean
  /** Whether it runs a file or another program. */
  readonly runs: boolean
}

/** How a call of such a program begins; `undefined` if a rule has to name all of it. */
export const beginningOf = (words: ReadonlyArray<string>): Beginning | undefined => {
  const [program = "", ...rest] = words
  const name = program.slice(program.lastIndexOf("/") + 1)
  const known = subcommands[name]
  const length = known === undefined ?
    0 :
    [1, 2, 3].find((count) => count <= rest.length && known.test(rest.slice(0, count).join(" ")))
  if (length === undefined) return undefined
  const kind = length > 0 ? undefined : aliases.find(([pattern]) => pattern.test(name))?.[1]
  const count = length > 0 ? length + 1 : kind === undefined ? undefined : scripted(kind, words)
  if (count === undefined) return undefined
  if (!carriers.test(name)) return { count, ordinary: true, runs: length === 0 }
  const isOwn = length > 0 && ownWork.test(words.slice(0, 2).join(" "))
  if (isOwn) return { count, ordinary: true, runs: /\.[cm]?[jt]sx?$/.test(words[count - 1] ?? "") }
  const [carried = "", ...others] = words.slice(count - 1)
  // A package may be named with its version.
  const inner = [carried.replace(/(?!^)@[^/]*$/, ""), ...others]
  const more = aliases.some(([pattern]) => pattern.test(inner[0] ?? "")) ? beginningOf(inner)?.count : 1
  return more === undefined ? undefined : { count: count - 1 + more, ordinary: false, runs: true }
}
