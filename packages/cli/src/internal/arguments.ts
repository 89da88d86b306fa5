/** Parses the command line by the declarations of the commands: finds the command, and checks each flag and operand. */
import { didYouMean, similar } from "@skein/core/Nearest"
import { parseArgs } from "node:util"
import type { CommandSpec, Flags, Input } from "../CommandSpec.ts"
import { valueOf, wrongValue } from "./flagValues.ts"

/** The parsed command line. */
export type Parsed =
  | { readonly _tag: "Help"; readonly path: ReadonlyArray<CommandSpec> }
  | { readonly _tag: "Version" }
  | { readonly _tag: "Run"; readonly command: CommandSpec; readonly input: Input<Flags> }
  | { readonly _tag: "Mistake"; readonly message: string }

const mistake = (message: string): Parsed => ({ _tag: "Mistake", message })

const isCalled = (name: string) => (command: CommandSpec): boolean =>
  command.name === name || (command.aliases ?? []).includes(name)

const callOf = (path: ReadonlyArray<CommandSpec>): string => ["skein", ...path.map(({ name }) => name)].join(" ")

/** What parsing depends on besides the command line. */
export interface Surroundings {
  /** Whether standard input is a terminal. If not, a prompt may come from it. */
  readonly stdinIsTerminal: boolean
  /** The command that runs if none is named; undefined without a terminal. */
  readonly session?: CommandSpec | undefined
}

/** Parses what was typed after `skein`. */
export const parse = (
  commands: ReadonlyArray<CommandSpec>,
  argv: ReadonlyArray<string>,
  { session, stdinIsTerminal }: Surroundings = { stdinIsTerminal: true }
): Parsed => {
  const [first, ...rest] = argv
  if (first === "--help" || first === "-h") return { _tag: "Help", path: [] }
  if (first === undefined && session !== undefined) return parseFor([session], [])
  if (first === undefined && stdinIsTerminal) return { _tag: "Help", path: [] }
  if (first === "--version" || first === "-v") return { _tag: "Version" }
  if (first === "help") return helpFor(commands, rest.filter((word) => !word.startsWith("-")), [])
  const command = first === undefined ? undefined : commands.find(isCalled(first))
  return command === undefined ? parsePrompt(commands, argv, session) : parseFor([command], rest)
}

/** Words that begin with no command are a prompt, unless they look like a mistyped command. */
const parsePrompt = (
  commands: ReadonlyArray<CommandSpec>,
  argv: ReadonlyArray<string>,
  session: CommandSpec | undefined
): Parsed => {
  const [run] = commands
  if (run === undefined) return mistake("There are no commands.")
  // Flags that a session does not have belong to `skein run`.
  const opened = session === undefined ? undefined : parseFor([session], argv)
  const parsed = opened?._tag === "Run" ? opened : parseFor([run], argv)
  if (parsed._tag !== "Run") return parsed
  const [word, ...words] = parsed.input.operands
  // What follows -- is literal.
  const literal = argv.includes("--") ? argv.length - argv.indexOf("--") - 1 : 0
  if (word === undefined || parsed.input.operands.length === literal) return parsed
  const exact = commands.find(isCalled(word))
  if (exact !== undefined) {
    return mistake(`Write the command before its flags: \`skein ${word} …\`. To send it as a prompt: \`skein -- …\`.`)
  }
  const meant = similar(word, [...namesOf(commands), "help"])
  const below = commands.find(({ name }) => name === meant)?.commands ?? []
  const isCommand = words.length === 0 || below.some(isCalled(words[0] ?? "")) || words.some((each) => /\s/.test(each))
  return meant === undefined || !isCommand ? parsed : mistake(
    `There is no command ${JSON.stringify(word)}. Did you mean \`skein ${meant}\`? To send it as a prompt: \`skein -- ${
      words.length === 0 ? word : "…"
    }\`.`
  )
}

const namesOf = (commands: ReadonlyArray<CommandSpec>): ReadonlyArray<string> =>
  commands.flatMap(({ aliases = [], name }) => [name, ...aliases])

const helpFor = (
  commands: ReadonlyArray<CommandSpec>,
  [word, ...words]: ReadonlyArray<string>,
  path: ReadonlyArray<CommandSpec>
): Parsed => {
  if (word === undefined) return { _tag: "Help", path }
  const found = commands.find(isCalled(word))
  if (found === undefined && path.length > 0) return unknownBelow(path, commands, word)
  return found === undefined ? unknownCommand(commands, word) : helpFor(found.commands ?? [], words, [...path, found])
}

const unknownCommand = (commands: ReadonlyArray<CommandSpec>, word: string): Parsed => {
  const meant = didYouMean(word, namesOf(commands), (name) => `\`skein ${name}\``)
  return mistake(`There is no command ${JSON.stringify(word)}.${meant} See \`skein help\`.`)
}

const parseFor = (path: ReadonlyArray<CommandSpec>, argv: ReadonlyArray<string>): Parsed => {
  const command = path.at(-1) as CommandSpec
  const [word, ...rest] = argv
  const below = word === undefined ? undefined : command.commands?.find(isCalled(word))
  if (below !== undefined) return parseFor([...path, below], rest)

  const { tokens } = parseArgs({
    args: [...argv],
    options: optionsOf(command.flags),
    strict: false,
    allowPositionals: true,
    tokens: true
  })
  const given = new Map<string, Array<string>>()
  const operands: Array<string> = []
  for (const token of tokens) {
    if (token.kind === "positional") operands.push(token.value)
    if (token.kind !== "option") continue
    if (token.name === "help" || token.name === "h") return { _tag: "Help", path }
    const flag = Object.hasOwn(command.flags, token.name) ? command.flags[token.name] : undefined
    if (flag === undefined || (token.rawName.startsWith("--") && token.rawName !== `--${token.name}`)) {
      return unknownFlag(path, token.rawName)
    }
    const wrong = wrongValue(flag, token.rawName, token.value, token.inlineValue === true)
    if (wrong !== undefined) return mistake(wrong)
    given.set(token.name, [...given.get(token.name) ?? [], token.value ?? ""])
  }

  const flags: Record<string, unknown> = {}
  for (const [name, flag] of Object.entries(command.flags)) flags[name] = valueOf(flag, given.get(name) ?? [])
  if (command.commands !== undefined && operands.length > 0 && command.operands === undefined) {
    return unknownBelow(path, command.commands, operands[0] ?? "")
  }
  const { choices, least = 0, most = 0, usage = "" } = command.operands ?? {}
  if (operands.length < least) return mistake(`\`${callOf(path)}\` needs ${usage}. See \`${callOf(path)} --help\`.`)
  const blank = operands.slice(0, least).find((operand) => operand.trim() === "")
  if (blank !== undefined) return mistake(`\`${callOf(path)}\` needs ${usage}, and got ${JSON.stringify(blank)}.`)
  if (operands.length > most) {
    return mistake(
      `\`${callOf(path)}\` does not take ${JSON.stringify(operands[most])}. Usage: ${
        `${callOf(path)} ${usage}`.trimEnd()
      }`
    )
  }
  const odd = choices === undefined ? undefined : operands.find((operand) => !choices.includes(operand))
  if (odd !== undefined) {
    return mistake(
      `\`${callOf(path)}\` does not take ${JSON.stringify(odd)}.${didYouMean(odd, choices ?? [])} It takes ${usage}.`
    )
  }
  return { _tag: "Run", command, input: { flags: flags as Input<Flags>["flags"], operands } }
}

const unknownBelow = (path: ReadonlyArray<CommandSpec>, group: ReadonlyArray<CommandSpec>, word: string): Parsed => {
  const call = callOf(path)
  const names = namesOf(group)
  return mistake(
    names.includes(word)
      ? `Write ${JSON.stringify(word)} before the flags: \`${call} ${word} …\`.`
      : `\`${call}\` has no ${JSON.stringify(word)}.${didYouMean(word, names)} ${
        names.length === 0 ? `See \`${call} --help\`.` : `It has ${names.join(", ")}.`
      }`
  )
}

const optionsOf = (flags: Flags) =>
  Object.fromEntries([
    ["help", { type: "boolean" as const, short: "h" }],
    ...Object.entries(flags).map(([name, flag]) =>
      [name, {
        type: flag.type === "switch" ? "boolean" as const : "string" as const,
        ...(flag.short === undefined ? {} : { short: flag.short })
      }] as const
    )
  ])

const unknownFlag = (path: ReadonlyArray<CommandSpec>, raw: string): Parsed => {
  const names = Object.keys(path.at(-1)?.flags ?? {})
  const meant = didYouMean(raw.replace(/^--?/, ""), names, (name) => `--${name}`)
  return mistake(
    `\`${callOf(path)}\` has no flag ${raw}.${meant} See \`${callOf(path)} --help\`; words after -- are not flags.`
  )
}
