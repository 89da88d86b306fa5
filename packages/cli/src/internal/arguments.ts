/** Reads the command line by what the commands declare: finds the command, and checks each flag and operand. */
import { didYouMean } from "@skein/core/Nearest"
import { parseArgs } from "node:util"
import type { CommandSpec, Flag, Flags, Input } from "../CommandSpec.ts"
import { parseDuration } from "./duration.ts"

/** What was typed, understood. */
export type Parsed =
  | { readonly _tag: "Help"; readonly path: ReadonlyArray<CommandSpec> }
  | { readonly _tag: "Version" }
  | { readonly _tag: "Run"; readonly command: CommandSpec; readonly input: Input<Flags> }
  | { readonly _tag: "Mistake"; readonly message: string }

const mistake = (message: string): Parsed => ({ _tag: "Mistake", message })

const isCalled = (name: string) => (command: CommandSpec): boolean =>
  command.name === name || (command.aliases ?? []).includes(name)

const callOf = (path: ReadonlyArray<CommandSpec>): string => ["skein", ...path.map(({ name }) => name)].join(" ")

/** Understands what was typed after `skein`. */
export const parse = (commands: ReadonlyArray<CommandSpec>, argv: ReadonlyArray<string>): Parsed => {
  const [first, ...rest] = argv
  if (first === undefined || first === "--help" || first === "-h") return { _tag: "Help", path: [] }
  if (first === "--version" || first === "-v") return { _tag: "Version" }
  if (first === "help") return helpFor(commands, rest.filter((word) => !word.startsWith("-")), [])
  const command = commands.find(isCalled(first))
  return command === undefined ? unknownCommand(commands, first) : parseFor([command], rest)
}

const helpFor = (
  commands: ReadonlyArray<CommandSpec>,
  [word, ...words]: ReadonlyArray<string>,
  path: ReadonlyArray<CommandSpec>
): Parsed => {
  if (word === undefined) return { _tag: "Help", path }
  const found = commands.find(isCalled(word))
  return found === undefined ? unknownCommand(commands, word) : helpFor(found.commands ?? [], words, [...path, found])
}

const unknownCommand = (commands: ReadonlyArray<CommandSpec>, word: string): Parsed => {
  if (word.startsWith("-")) {
    return mistake(
      `${word} stands before a command. Write the command first, as in \`skein run ${word}\`; see \`skein help\`.`
    )
  }
  if (/\s/.test(word)) {
    return mistake(`${JSON.stringify(word)} is no command. To prompt an agent with it: \`skein run …\`.`)
  }
  const names = commands.flatMap(({ aliases = [], name }) => [name, ...aliases])
  const meant = didYouMean(word, names, (name) => `\`skein ${name}\``)
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
  const group = command.commands
  if (group !== undefined && operands.length > 0 && command.operands === undefined) {
    const meant = didYouMean(operands[0] ?? "", group.map(({ name }) => name))
    return mistake(
      `\`${callOf(path)}\` has no ${JSON.stringify(operands[0])}.${meant} It has ${
        group.map(({ name }) => name).join(", ")
      }.`
    )
  }
  const { choices, least = 0, most = 0, usage = "" } = command.operands ?? {}
  if (operands.length < least) return mistake(`\`${callOf(path)}\` needs ${usage}. See \`${callOf(path)} --help\`.`)
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
      `\`${callOf(path)}\` knows no ${JSON.stringify(odd)}.${didYouMean(odd, choices ?? [])} It takes ${usage}.`
    )
  }
  return { _tag: "Run", command, input: { flags: flags as Input<Flags>["flags"], operands } }
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
    `\`${callOf(path)}\` has no flag ${raw}.${meant} See \`${callOf(path)} --help\`; words after -- are no flags.`
  )
}

/** What is wrong with the value of a flag; undefined where nothing is. */
const wrongValue = (flag: Flag, raw: string, value: string | undefined, inline: boolean): string | undefined => {
  const got = value === undefined ? "nothing" : JSON.stringify(value)
  if (flag.type === "switch") return value === undefined ? undefined : `${raw} takes no value, and got ${got}.`
  if (value === undefined || value.trim() === "") return `${raw} needs ${wanted(flag)}, and got ${got}.`
  // A prompt may begin with a dash after `=` or `--`; elsewhere it is a flag whose predecessor has no value.
  if (!inline && flag.type === "text" && value.startsWith("-") && value !== "-") {
    return `${raw} needs ${wanted(flag)}, and ${got} looks like another flag. Write ${raw}=${value} if it is meant.`
  }
  const isRight = flag.type === "text" || valueOf(flag, [value]) !== undefined
  const meant = flag.type === "choice" ? didYouMean(value, flag.choices) : ""
  return isRight ? undefined : `${raw} needs ${wanted(flag)}, and got ${got}.${meant}`
}

const wanted = (flag: Flag): string => {
  switch (flag.type) {
    case "switch":
      return "no value"
    case "text":
      return `a value (${flag.value})`
    case "count":
      return "a whole number from 1 on"
    case "money":
      return "an amount of USD above zero such as 0.50"
    case "duration":
      return "a time above zero such as 90s, 30m, 1h, 1500ms or 5 (seconds), at most 24 days"
    case "choice":
      return `one of ${flag.choices.join(", ")}`
  }
}

const valueOf = (flag: Flag, given: ReadonlyArray<string>): unknown => {
  const last = given.at(-1)
  switch (flag.type) {
    case "switch":
      return given.length > 0
    case "text":
      return flag.many === true ? given : last
    case "count":
      return last !== undefined && /^\d{1,9}$/.test(last) && Number(last) >= 1 ? Number(last) : undefined
    case "money":
      return last !== undefined && /^\d{1,9}(?:\.\d{1,12})?$/.test(last) && Number(last) > 0 ? last : undefined
    case "duration":
      return last === undefined ? undefined : parseDuration(last)
    case "choice":
      return last === undefined ? flag.choices[0] : flag.choices.find((choice) => choice === last)
  }
}
