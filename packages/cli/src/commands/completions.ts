/** `skein completions`: writes a script for bash, zsh or fish. */
import * as Effect from "effect/Effect"
import { commandBody, type CommandEntry, type CommandSpec, type Flag } from "../CommandSpec.ts"
import { opened, operandsOf } from "../internal/arguments.ts"
import { Stdio } from "../Stdio.ts"

/** A command with the words that lead to it, such as `sessions show`. */
interface Reached {
  readonly words: ReadonlyArray<string>
  readonly command: CommandSpec
}

const reached = (commands: ReadonlyArray<CommandSpec>, before: ReadonlyArray<string> = []): ReadonlyArray<Reached> =>
  commands.flatMap((command) =>
    [command.name, ...command.aliases ?? []].flatMap((name) => {
      const words = [...before, name]
      return [{ words, command }, ...reached(command.commands ?? [], words)]
    })
  )

/** The words that may follow a command besides its flags. */
const nextWords = (command: CommandSpec): ReadonlyArray<string> => [
  ...(command.commands ?? []).map(({ name }) => name),
  ...operandsOf(command).choices ?? []
]

const flagsOf = ({ flags }: CommandSpec): ReadonlyArray<readonly [name: string, flag: Flag]> => [
  ...Object.entries(flags),
  ["help", { type: "switch", short: "h", description: "Tells more" }]
]

const words = (list: ReadonlyArray<string>): string => list.join(" ")

/** Single quotes for a shell. */
const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`

const topWords = (commands: ReadonlyArray<CommandSpec>): ReadonlyArray<string> => [
  ...commands.flatMap(({ aliases = [], name }) => [name, ...aliases]),
  "help",
  "--help",
  "--version"
]

/** How bash completes the value of a flag; undefined for a flag that takes none. */
const valueOf = (flag: Flag): string | undefined => {
  if (flag.type === "switch") return undefined
  if (flag.type === "choice") return `COMPREPLY=($(compgen -W ${quoted(words(flag.choices))} -- "$cur"))`
  if (flag.type !== "text" || flag.completes === undefined) return "COMPREPLY=()"
  return `COMPREPLY=($(compgen -${flag.completes === "directory" ? "d" : "f"} -- "$cur"))`
}

/** What bash completes after each flag of each command. Flags with the same completion share one case. */
const valueCases = (commands: ReadonlyArray<CommandSpec>): ReadonlyArray<string> => {
  const places = new Map<string, Array<string>>()
  for (const { command, words: path } of reached(commands)) {
    for (const [name, flag] of flagsOf(command)) {
      const how = valueOf(flag)
      if (how === undefined) continue
      const place = (raw: string) => quoted(`${words(path)} ${raw}`)
      const short = flag.short === undefined ? [] : [place(`-${flag.short}`)]
      places.set(how, [...places.get(how) ?? [], place(`--${name}`), ...short])
    }
  }
  return [...places].map(([how, patterns]) => `    ${patterns.join("|")}) ${how}; return ;;`)
}

/** The script for bash. */
export const bash = (commands: ReadonlyArray<CommandSpec>): string => {
  const cases = reached(commands).map(({ command, words: path }) => {
    const flags = flagsOf(command).map(([name]) => `--${name}`)
    return `    ${quoted(words(path))}) words=${quoted(words([...nextWords(command), ...flags]))} ;;`
  })
  const groups = commands.filter((command) => command.commands !== undefined).map(({ name }) => name)
  return `# Completions of skein for bash.
_skein() {
  local cur="\${COMP_WORDS[COMP_CWORD]}" prev="\${COMP_WORDS[COMP_CWORD-1]}" path="" words="" past="" word
  # Readline makes a word of its own of each "=".
  if [[ "$cur" == "=" ]]; then cur=""; elif [[ "$prev" == "=" ]]; then prev="\${COMP_WORDS[COMP_CWORD-2]}"; fi
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    case "$path" in
      "") path="$word" ;;
      ${groups.join("|")}) [[ "$word" == -* || -n "$past" ]] || path="$path $word"; past=1 ;;
    esac
  done
  case "$path $prev" in
${valueCases(commands).join("\n")}
  esac
  case "$path" in
    '') words=${quoted(words(topWords(commands)))} ;;
    help) words=${quoted(words(commands.map(({ name }) => name)))} ;;
${cases.join("\n")}
  esac
  COMPREPLY=($(compgen -W "$words" -- "$cur"))
}
complete -o default -F _skein skein
`
}

const zshFlag = (name: string, flag: Flag): string => {
  const about = flag.description.replaceAll(/[[\]:]/g, "\\$&")
  const action = flag.type === "choice"
    ? `:${name}:(${words(flag.choices)})`
    : flag.type === "text" && flag.completes !== undefined
    ? `:${name}:${flag.completes === "directory" ? "_files -/" : "_files"}`
    : flag.type === "switch"
    ? ""
    : `:${name}: `
  const long = `--${name}${flag.type === "switch" ? "" : "="}`
  const many = flag.type === "text" && flag.many === true ? "*" : ""
  if (flag.short === undefined) return quoted(`${many}${long}[${about}]${action}`)
  const short = `-${flag.short}${flag.type === "switch" ? "" : "+"}`
  const exclusive = many === "" ? `(-${flag.short} --${name})` : "*"
  return `${quoted(exclusive)}{${short},${long}}${quoted(`[${about}]${action}`)}`
}

/** The script for zsh. */
export const zsh = (commands: ReadonlyArray<CommandSpec>): string => {
  const described = (list: ReadonlyArray<CommandSpec>) =>
    list.map(({ name, summary }) => quoted(`${name}:${summary.replaceAll(":", "\\:")}`)).join(" ")
  const cases = reached(commands).map(({ command, words: path }) => {
    const flags = flagsOf(command).map(([name, flag]) => `      ${zshFlag(name, flag)}`)
    const { choices } = operandsOf(command)
    const next = command.commands !== undefined
      ? `'*::command:((${described(command.commands).replaceAll("'", "\"")}))'`
      : choices === undefined
      ? "'*: :_default'"
      : `':word:(${words(choices)})'`
    return `    ${quoted(words(path))}) _arguments -S \\\n${flags.join(" \\\n")} \\\n      ${next} ;;`
  })
  const groups = commands.filter((command) => command.commands !== undefined).map(({ name }) => name)
  return `#compdef skein
# Completions of skein for zsh.
_skein() {
  local curcontext="$curcontext" path
  if (( CURRENT == 2 )); then
    local -a commands=(${described(commands)} 'help:Shows the help of a command')
    _describe command commands
    return
  fi
  path="$words[2]"
  shift words; (( CURRENT-- ))
  if [[ "$path" == (${groups.join("|")}) && CURRENT -gt 2 && "$words[2]" != -* ]]; then
    path="$path $words[2]"
    shift words; (( CURRENT-- ))
  fi
  case "$path" in
${cases.join("\n")}
  esac
}
compdef _skein skein
`
}

/** The script for fish. */
export const fish = (commands: ReadonlyArray<CommandSpec>): string => {
  const lines = commands.flatMap((command) => {
    const own = [command.name, ...command.aliases ?? []]
    const seen = `__fish_seen_subcommand_from ${words(own)}`
    const below = command.commands ?? []
    const { choices } = operandsOf(command)
    const flag = (condition: string) => ([name, each]: readonly [string, Flag]): string => {
      const short = each.short === undefined ? "" : ` -s ${each.short}`
      const value = each.type === "choice"
        ? ` -x -a ${quoted(words(each.choices))}`
        : each.type === "switch"
        ? ""
        : each.type === "text" && each.completes !== undefined
        ? " -r -F"
        : " -x"
      return `complete -c skein -n ${quoted(condition)} -l ${name}${short}${value} -d ${quoted(each.description)}`
    }
    const others = below.length === 0
      ? seen
      : `${seen}; and not __fish_seen_subcommand_from ${words(below.map(({ name }) => name))}`
    return [
      ...own.map((name) => `complete -c skein -n __fish_use_subcommand -f -a ${name} -d ${quoted(command.summary)}`),
      ...flagsOf(command).map(flag(others)),
      ...(choices === undefined ? [] : [`complete -c skein -n ${quoted(seen)} -f -a ${quoted(words(choices))}`]),
      ...below.flatMap((each) => [
        `complete -c skein -n ${quoted(others)} -f -a ${each.name} -d ${quoted(each.summary)}`,
        ...flagsOf(each).map(flag(`${seen}; and __fish_seen_subcommand_from ${each.name}`))
      ])
    ]
  })
  return `# Completions of skein for fish.\ncomplete -c skein -n __fish_use_subcommand -f -a help -d 'Shows the help of a command'\n${
    lines.join("\n")
  }\n`
}

/** Prints the script that completes these commands in a shell. */
export const completions = (commands: ReadonlyArray<CommandEntry>) =>
  commandBody({
    details: "For example: skein completions bash > ~/.local/share/bash-completion/completions/skein",
    operands: "bash|zsh|fish",
    flags: {},
    run: ({ operands: [shell] }) =>
      Effect.gen(function*() {
        const all = yield* Effect.promise(() => Promise.all(commands.map(opened)))
        const write = shell === "zsh" ? zsh : shell === "fish" ? fish : bash
        const { out } = yield* Stdio
        out(write(all))
      })
  })
