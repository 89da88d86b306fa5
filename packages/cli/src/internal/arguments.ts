/** Parses the command line by the declarations of the commands: finds the command, and checks each flag and operand. */
import { didYouMean, similar } from "@skein/domain/Lookup"
import { parseTime } from "@skein/domain/Typed"
import { parseArgs } from "node:util"
import type { CommandBody, CommandEntry, CommandSpec, Flag, Flags, Input } from "../CommandSpec.ts"

/**
 * Reads `90s`, `30m`, `1.5h`, `500ms` or `5` (seconds). Returns milliseconds, or undefined if it is not a time above
 * zero.
 */
export const parseDuration = (text: string): number | undefined => {
  const time = text.trim()
  return parseTime(/[\d.]$/.test(time) ? `${time}s` : time)
}

/** What values of a kind of flag look like. */
interface Kind {
  /** How help shows the value. */
  readonly shown: string
  /** What errors ask for. */
  readonly expected: string
  /** The value of a text; undefined if it has none. */
  readonly read: (text: string) => unknown
}

const numberAs = (pattern: RegExp, isRight: (value: number) => boolean) => (text: string): number | undefined =>
  pattern.test(text) && isRight(Number(text)) ? Number(text) : undefined

const counts: Kind = {
  shown: "N",
  expected: "a whole number from 1 to 999999999",
  read: numberAs(/^\d{1,9}$/, (value) => value >= 1)
}

const ports: Kind = {
  shown: "N",
  expected: "a port from 0 to 65535",
  read: numberAs(/^\d{1,5}$/, (value) => value <= 65_535)
}

const money: Kind = {
  shown: "USD",
  expected: "an amount of USD above zero such as 0.50, at most 999999999",
  read: (text) => /^\d{1,9}(?:\.\d{1,12})?$/.test(text) && Number(text) > 0 ? text : undefined
}

const durations: Kind = {
  shown: "TIME",
  expected: "a time above zero such as 90s, 30m, 1h, 1500ms or 5 (seconds), at most 24 days",
  read: parseDuration
}

const kindOf = (flag: Exclude<Flag, { readonly type: "switch" }>): Kind => {
  switch (flag.type) {
    case "text":
      return { shown: flag.value, expected: `a value (${flag.value})`, read: (text) => text }
    case "choice": {
      const { choices } = flag
      return {
        shown: choices.join("|"),
        expected: `one of ${choices.join(", ")}`,
        read: (text) => choices.find((choice) => choice === text)
      }
    }
    case "count":
      return counts
    case "port":
      return ports
    case "money":
      return money
    case "duration":
      return durations
  }
}

/** How help shows a flag with its value. */
export const flagText = (name: string, flag: Flag): string =>
  `--${name}${flag.type === "switch" ? "" : ` ${kindOf(flag).shown}`}`

/** What is wrong with the value of a flag; undefined if nothing is. */
const wrongValue = (flag: Flag, raw: string, value: string | undefined, inline: boolean): string | undefined => {
  const got = value === undefined ? "nothing" : JSON.stringify(value)
  if (flag.type === "switch") return value === undefined ? undefined : `${raw} takes no value, and got ${got}.`
  const { expected, read } = kindOf(flag)
  if (value === undefined || value.trim() === "") return `${raw} needs ${expected}, and got ${got}.`
  if (flag.type === "text" && value.length > (flag.most ?? Number.POSITIVE_INFINITY)) {
    return `${raw} takes at most ${flag.most} characters, and got ${value.length}.`
  }
  // A prompt that begins with a dash needs `=` or `--`. Otherwise it is a flag, and the flag before it has no value.
  if (!inline && flag.type === "text" && value.startsWith("-") && value !== "-") {
    return `${raw} needs ${expected}, and ${got} looks like another flag. Write ${raw}=${value} if it is meant.`
  }
  const meant = flag.type === "choice" ? didYouMean(value, flag.choices) : ""
  return read(value) === undefined ? `${raw} needs ${expected}, and got ${got}.${meant}` : undefined
}

/** The value of a flag, from all values that were given. The last one counts if the flag takes only one. */
const valueOf = (flag: Flag, given: ReadonlyArray<string>): unknown => {
  const last = given.at(-1)
  if (flag.type === "switch") return given.length > 0
  if (flag.type === "text" && flag.many === true) return given
  if (last !== undefined) return kindOf(flag).read(last)
  return flag.type === "choice" && flag.isOptional !== true ? flag.choices[0] : undefined
}

/** The words that a command takes: how many, and which if they are known in advance. */
export const operandsOf = ({ operands = "" }: CommandBody) => {
  const words = operands === "" ? [] : operands.split(" ")
  return {
    usage: operands,
    least: words.filter((word) => !word.startsWith("[")).length,
    most: operands.includes("…") ? Infinity : words.length,
    choices: /^[a-z]+(?:\|[a-z]+)+$/.test(operands) ? operands.split("|") : undefined
  }
}

/** The parsed command line. */
export type Parsed =
  | { readonly _tag: "Help"; readonly path: ReadonlyArray<CommandSpec> }
  | { readonly _tag: "Run"; readonly command: CommandSpec; readonly input: Input<Flags> }
  | { readonly _tag: "Mistake"; readonly message: string }

const mistake = (message: string): Parsed => ({ _tag: "Mistake", message })

const isCalled = (name: string) => (command: Pick<CommandSpec, "aliases" | "name">): boolean =>
  command.name === name || (command.aliases ?? []).includes(name)

const callOf = (path: ReadonlyArray<CommandSpec>): string => ["skein", ...path.map(({ name }) => name)].join(" ")

/** What parsing depends on besides the command line. */
interface Surroundings {
  /** Whether standard input is a terminal. If not, a prompt may come from it. */
  readonly stdinIsTerminal: boolean
  /** The command that runs if none is named; undefined without a terminal. */
  readonly session?: CommandEntry | undefined
}

/** Loads the whole command of an entry. */
export const opened = ({ open, ...named }: CommandEntry): Promise<CommandSpec> =>
  open().then((body) => ({ ...named, ...body }))

/** Parses what was typed after `skein`. Loads the command that is meant. */
export const parse = async (
  commands: ReadonlyArray<CommandEntry>,
  argv: ReadonlyArray<string>,
  { session, stdinIsTerminal }: Surroundings = { stdinIsTerminal: true }
): Promise<Parsed> => {
  const [first, ...rest] = argv
  if (first === "--help" || first === "-h") return { _tag: "Help", path: [] }
  if (first === undefined && session !== undefined) return parseFor([await opened(session)], [])
  if (first === undefined && stdinIsTerminal) return { _tag: "Help", path: [] }
  if (first === "help") return helpFor(commands, rest.filter((word) => !word.startsWith("-")))
  const elsewhere = commandElsewhere(argv, session !== undefined)
  if (elsewhere !== undefined) return noCommand(argv, elsewhere)
  const command = first === undefined ? undefined : commands.find(isCalled(first))
  return command === undefined ? parsePrompt(commands, argv, session) : parseFor([await opened(command)], rest)
}

const noCommand = (words: ReadonlyArray<string>, meant: string): Parsed =>
  mistake(
    `There is no command ${
      JSON.stringify(words[0] === "agent" ? words.join(" ") : words[0])
    }. Did you mean \`${meant}\`? To send it as a prompt: \`skein -- ${words.length === 1 ? words[0] : "…"}\`.`
  )

/** Words that begin with no command are a prompt, unless they look like a mistyped command. */
const parsePrompt = async (
  commands: ReadonlyArray<CommandEntry>,
  argv: ReadonlyArray<string>,
  session: CommandEntry | undefined
): Promise<Parsed> => {
  const [run] = commands
  if (run === undefined) return mistake("There are no commands.")
  // Flags that a session does not have belong to `skein run`.
  const inSession = session === undefined ? undefined : parseFor([await opened(session)], argv)
  const parsed = inSession?._tag === "Run" ? inSession : parseFor([await opened(run)], argv)
  if (parsed._tag !== "Run") return parsed
  const [word, ...words] = parsed.input.operands
  // What follows -- is literal.
  const literal = argv.includes("--") ? argv.length - argv.indexOf("--") - 1 : 0
  if (word === undefined || parsed.input.operands.length === literal) return parsed
  const exact = commands.find(isCalled(word))
  if (exact !== undefined) {
    return mistake(`Write the command before its flags: \`skein ${word} …\`. To send it as a prompt: \`skein -- …\`.`)
  }
  const known = commandElsewhere([word, ...words], session !== undefined)
  if (known !== undefined) return noCommand([word, ...words], known)
  const near = similar(word, [...namesOf(commands), "help"])
  const meant = commands.find(({ name }) => name === near)
  const mayBeProse = words.length > 0 && (everyday.has(word) || !/^[a-z]+$/.test(word))
  const isProse = mayBeProse &&
    (meant === undefined || (await opened(meant)).commands?.some(isCalled(words[0] ?? "")) !== true)
  return near === undefined || isProse ? parsed : noCommand([word, ...words], `skein ${near}`)
}

/** English words that prompts begin with, although they are within two edits of a command. */
const everyday: ReadonlySet<string> = new Set(
  (`act acts actor again agree alert alerts app apps back cap case cases cast cell code codes command comment comments `
    + `completion confirm counter deep docker each edit emit event events exit fact factor feel fun half hand head heap `
    + `heed held hell hello helper here hey hint hold info inst int into just keep kill lack last leave limit lint list `
    + `map maps mark marks mask merge mock mode model module modules move moves much must never node nodes none observe `
    + `omit parent pass permission print quit ran rerun rest ring round rub rug rule rules run runs rust save saves self `
    + `sell sense series server servers service session shell since skill skip solve some sort still struct sun sure `
    + `tags take takes talk task tell test tests thanks that these this thus track tracks trait treat tree true trunk `
    + `trusted truth turn unit units upgrades urgent vector verse versions visit wait walk was well went were wrap`)
    .split(" ")
)

/** What to write for the commands of other programs. */
const wordsElsewhere: Readonly<Record<string, string>> = {
  attach: "skein --attach=URL",
  auth: "skein models",
  chat: "skein",
  continue: "skein -c",
  exec: "skein run",
  export: "skein sessions export ID",
  hooks: "skein config",
  import: "skein sessions import FILE",
  login: "skein models",
  logout: "skein models",
  logs: "skein sessions",
  ls: "skein sessions",
  plan: "skein --mode plan",
  providers: "skein models",
  stats: "skein sessions",
  status: "skein tasks",
  update: "skein upgrade",
  usage: "skein sessions",
  web: "skein serve --open"
}

const agentsElsewhere: Readonly<Record<string, string>> = {
  create: "skein agents create",
  list: "skein agents",
  ls: "skein agents"
}

/** Words that follow a command, and do not continue a sentence. */
const operandElsewhere =
  /^(?:add|create|delete|edit|get|help|list|login|logout|ls|new|remove|rm|set|show|status|view)$|^-|^[^\s]*[/\\.:_\d][^\s]*$/

/**
 * What to write for a command of another program. It stands alone, before one word such as `list` or an id, or before a
 * quoted prompt: other words after it are a sentence.
 */
const commandElsewhere = ([word = "", next, ...more]: ReadonlyArray<string>, onTerminal: boolean) => {
  const isPrompt = (word === "exec" || word === "chat") && more.length === 0 && /\s/.test(next ?? "")
  const isOperand = next === undefined || next.startsWith("-") || (more.length === 0 && operandElsewhere.test(next))
  if (!isOperand && !isPrompt) return undefined
  if (word === "agent") return next === undefined ? undefined : agentsElsewhere[next]
  if (word === "resume") return onTerminal && next === undefined ? "skein --resume" : "skein sessions resume ID"
  return Object.hasOwn(wordsElsewhere, word) ? wordsElsewhere[word] : undefined
}

/** The flags of other agents' programs, with the flag that does the same here. `run` prints the answer and exits. */
const flagsElsewhere: Readonly<Record<string, string>> = {
  "-C": "--dir PATH",
  "-i": "--file PATH",
  "-q": "--format quiet",
  "--approval-mode": "--mode",
  "--cd": "--dir PATH",
  "--cwd": "--dir PATH",
  "--dangerously-bypass-approvals-and-sandbox": "--mode auto",
  "--dangerously-skip-permissions": "--mode auto",
  "--full-auto": "--mode auto",
  "--image": "--file PATH",
  "--json": "--format json",
  "--max-budget-usd": "--budget-usd",
  "--max-turns": "--max-steps",
  "--output-format": "--format",
  "--permission-mode": "--mode",
  "--quiet": "--format quiet",
  "--yolo": "--mode auto"
}

const printing = "`skein run PROMPT` prints the answer and exits."
const resuming =
  "`skein run -s ID PROMPT` continues a session. `skein --resume` lets you choose one: its input and output have to be a terminal."
const permitting =
  "Set `permission` in skein.json, such as { \"permission\": { \"bash\": { \"git *\": \"allow\" } } }, or pass --mode."

/** What to do instead of other flags of theirs, where a command has this one. */
const hintsElsewhere: Readonly<Record<string, { readonly where: string; readonly hint: string }>> = {
  "-p": { where: "no-wait", hint: printing },
  "-r": { where: "session", hint: resuming },
  "--allowed-tools": { where: "mode", hint: permitting },
  "--allowedTools": { where: "mode", hint: permitting },
  "--disallowed-tools": { where: "mode", hint: permitting.replace("allow", "deny") },
  "--disallowedTools": { where: "mode", hint: permitting.replace("allow", "deny") },
  "--plain": {
    where: "session",
    hint: "`skein --plain` opens a session in lines: its input and output have to be a terminal."
  },
  "--print": { where: "no-wait", hint: printing },
  "--prompt": { where: "no-wait", hint: printing },
  "--resume": { where: "session", hint: resuming },
  "--scope": {
    where: "project",
    hint: "Without it, the server is in your own config; --project puts it into the project's."
  },
  "--transport": {
    where: "sse",
    hint: "A URL is reached over HTTP (with --sse, over the older kind), and a program over stdio: leave it out."
  }
}

const namesOf = (commands: ReadonlyArray<Pick<CommandSpec, "aliases" | "name">>): ReadonlyArray<string> =>
  commands.flatMap(({ aliases = [], name }) => [name, ...aliases])

const helpFor = async (
  commands: ReadonlyArray<CommandEntry>,
  [word, ...words]: ReadonlyArray<string>
): Promise<Parsed> => {
  if (word === undefined) return { _tag: "Help", path: [] }
  const found = commands.find(isCalled(word))
  if (found !== undefined) return helpBelow([await opened(found)], words)
  const meant = didYouMean(word, namesOf(commands), (name) => `\`skein ${name}\``)
  return mistake(`There is no command ${JSON.stringify(word)}.${meant} See \`skein help\`.`)
}

const helpBelow = (path: ReadonlyArray<CommandSpec>, [word, ...words]: ReadonlyArray<string>): Parsed => {
  if (word === undefined) return { _tag: "Help", path }
  const { commands = [] } = path.at(-1) as CommandSpec
  const found = commands.find(isCalled(word))
  return found === undefined ? unknownBelow(path, commands, word) : helpBelow([...path, found], words)
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
  const { choices, least, most, usage } = operandsOf(command)
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
  const same = Object.hasOwn(flagsElsewhere, raw) ? flagsElsewhere[raw] : undefined
  const isHere = same !== undefined && names.includes(same.slice(2).split(" ")[0] ?? "")
  const instead = Object.hasOwn(hintsElsewhere, raw) ? hintsElsewhere[raw] : undefined
  const meant = instead !== undefined && names.includes(instead.where)
    ? ` ${instead.hint}`
    : isHere
    ? ` Its equivalent is ${same}.`
    : didYouMean(raw.replace(/^--?/, ""), names, (name) => `--${name}`)
  return mistake(
    `\`${callOf(path)}\` has no flag ${raw}.${meant} See \`${callOf(path)} --help\`; words after -- are not flags.`
  )
}
