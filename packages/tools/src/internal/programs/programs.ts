/**
 * Reads the tables of programs. A table lists the options that are known to be harmless, what each of them takes, and what
 * the program does with its operands. An option that is not in the table needs a question.
 *
 * A table is a text. It begins with brackets, which contain the kinds of operands, each but the last for one operand, and
 * properties of the whole program. Then come the options. What follows an option says what it takes:
 *
 *     -n        nothing              -k:   a text            --color?   a text after =, or nothing
 *     -f<       a file that is read  -o>   a file that is written       -C/   a directory that is read below
 *     -W*       a text in the same word                                 -#    a number, as in -5
 *     --arg::   two texts
 *
 * After that: `!` it replaces the first operand, `^` the operands are read below, `.` hidden files too.
 */
import { lookup } from "@skein/domain/Lookup"
import { generated } from "./tables/generated.ts"
import { written } from "./tables/written.ts"

/** What a value or an operand means to a program. What it packs, it reads and replaces. */
export type Kind = "text" | "read" | "look" | "below" | "write" | "pack" | "url" | "target" | "git" | "remote"

/** What an option takes, and what it changes. */
interface Option {
  readonly takes: Kind | undefined
  /** Whether its value may only be in the same word. */
  readonly attached: boolean
  /** Whether it takes a second text. */
  readonly twice: boolean
  /** Whether it replaces the first operand. */
  readonly first: boolean
  readonly below: boolean
  readonly hidden: boolean
}

/** What is known about a program. */
interface Table {
  readonly options: ReadonlyMap<string, Option>
  /** Options with their values in the same word, such as `-Wall`. */
  readonly prefixes: ReadonlyArray<readonly [string, Option]>
  /** Whether a number may be an option. */
  readonly numbers: boolean
  /** The kinds of operands. The last one applies to all further operands. */
  readonly operands: ReadonlyArray<Kind>
  /** The kind of the last operand, if it differs. */
  readonly last: Kind | undefined
  /** Whether options are words after one dash, instead of letters. */
  readonly words: boolean
  /** Whether it does more than read. Then no default allows it. */
  readonly acts: boolean
  /** Whether it reads its working directory if it has no operands. */
  readonly here: boolean
  /** Whether it skips hidden files unless an option says otherwise. */
  readonly skipsHidden: boolean
  /** Whether `@` before a value makes it the name of a file. */
  readonly at: boolean
}

const kindOf: Readonly<Record<string, Kind>> = {
  ":": "text",
  "?": "text",
  "*": "text",
  "<": "read",
  ">": "write",
  "/": "below"
}

const isKind = (word: string): word is Kind => /^(?:text|read|look|below|write|pack|url|target|git|remote)$/.test(word)

const optionOf = (marks: string): Option => {
  const kind = marks.charAt(0) === "*" && kindOf[marks.charAt(1)] !== undefined ? marks.charAt(1) : marks.charAt(0)
  return {
    takes: kindOf[kind],
    attached: marks.startsWith("?") || marks.startsWith("*"),
    twice: marks.startsWith("::"),
    first: marks.includes("!"),
    below: marks.includes("^"),
    hidden: marks.includes(".")
  }
}

const parseTable = (source: string): Table => {
  const [head = "", body = ""] = /^\s*\[([^\]]*)\]([^]*)$/.exec(source)?.slice(1) ?? []
  const about = head.split(/\s+/).filter((word) => word !== "")
  const given = body.split(/\s+/).filter((word) => word !== "").map((word) => {
    const [, name = "", marks = ""] = /^(.*?)([:?*<>/]{0,2}[!^.]*)$/.exec(word) ?? []
    return [name, marks] as const
  })
  const last = about.find((word) => word.startsWith("last:"))?.slice("last:".length)
  return {
    options: new Map(
      given.filter(([, marks]) => !marks.startsWith("*")).map(([name, marks]) => [name, optionOf(marks)])
    ),
    prefixes: given.flatMap(([name, marks]) => marks.startsWith("*") ? [[name, optionOf(marks)] as const] : []),
    numbers: given.some(([name]) => name === "-#"),
    operands: about.filter(isKind),
    last: last !== undefined && isKind(last) ? last : undefined,
    words: about.includes("words"),
    acts: about.includes("acts"),
    here: about.includes("here"),
    skipsHidden: about.includes("skipsHidden"),
    at: about.includes("at")
  }
}

const parsed = new Map<string, Table>()

/** The table in a text, which is parsed once. */
const tableOf = (source: string): Table => {
  const found = parsed.get(source) ?? parseTable(source)
  parsed.set(source, found)
  return found
}

/** A word of a call. */
interface CallWord {
  readonly text: string
  /** Whether the shell passes on exactly this text, as one argument. */
  readonly fixed: boolean
}

/** Something that a call names, and what it means to the program. */
export interface Named<Word> {
  readonly word: Word
  readonly text: string
  readonly kind: Kind
  /** Whether it is an operand. If only the shell knows its text, the program may take it for an option. */
  readonly operand: boolean
  /** The option that it is the value of. */
  readonly option?: string | undefined
}

/** What a call does, according to its table. */
export interface Call<Word> {
  /** The first option that is not in the table; undefined if all are. */
  readonly unknown: string | undefined
  readonly named: ReadonlyArray<Named<Word>>
  /** Whether it reads below directories. */
  readonly below: boolean
  /** Whether it also reads hidden files. */
  readonly hidden: boolean
  /** Whether it reads its working directory because it names no file. */
  readonly here: boolean
  /** Its options. */
  readonly options: ReadonlyArray<string>
  /** Its operands, including those after `--`. */
  readonly operands: ReadonlyArray<Word>
}

class CallReader<Word extends CallWord> {
  readonly #table: Table
  readonly #args: ReadonlyArray<Word>
  readonly named: Array<Named<Word>> = []
  readonly options: Array<string> = []
  readonly operands: Array<Word> = []
  unknown: string | undefined
  below = false
  hidden = false
  #first = false
  #at = 0

  constructor(table: Table, args: ReadonlyArray<Word>) {
    this.#table = table
    this.#args = args
  }

  #value(word: Word, text: string, { takes }: Option): void {
    if (takes === undefined) return
    this.named.push({ word, text, kind: takes, operand: false, option: this.options.at(-1) })
  }

  #use(name: string, option: Option): void {
    this.options.push(name)
    this.#first ||= option.first
    this.below ||= option.below
    this.hidden ||= option.hidden
  }

  /** The value of an option in the next word. */
  #next(option: Option): boolean {
    const word = this.#args[++this.#at]
    // A word that looks like an option is not taken for a value. Should the table be wrong, nothing is overlooked.
    if (word === undefined || /^-[^\d]/.test(word.text)) return false
    this.#value(word, word.text, option)
    if (!option.twice) return true
    this.#at++
    return this.#args[this.#at] !== undefined
  }

  /** An option as a whole word: `--name`, `--name=value`, and for some programs `-name`. */
  #whole(word: Word): boolean {
    const { options } = this.#table
    const equals = word.text.indexOf("=")
    const name = equals < 0 ? word.text : word.text.slice(0, equals)
    const option = options.get(name)
    if (option === undefined) return false
    this.#use(name, option)
    if (equals < 0) return option.takes === undefined || option.attached || this.#next(option)
    this.#value(word, word.text.slice(equals + 1), option)
    return option.takes !== undefined
  }

  /** An option with its value in the same word, such as `-Wall`. */
  #prefixed(word: Word): boolean {
    const found = this.#table.prefixes.find(([name]) => word.text.startsWith(name))
    if (found === undefined) return false
    this.#use(found[0], found[1])
    this.#value(word, word.text.slice(found[0].length), found[1])
    return true
  }

  /** Letters after one dash. The last one may have a value. */
  #letters(word: Word): boolean {
    const { text } = word
    for (let at = 1; at < text.length; at++) {
      const name = `-${text.charAt(at)}`
      const option = this.#table.options.get(name)
      if (option === undefined) return false
      this.#use(name, option)
      if (option.takes === undefined) continue
      const rest = text.slice(at + 1)
      if (option.attached) {
        // In some programs this letter takes no value, and the following ones are options.
        if (/^\d*$/.test(rest)) return true
        continue
      }
      if (rest !== "") this.#value(word, rest, option)
      return rest !== "" || this.#next(option)
    }
    return true
  }

  #option(word: Word): void {
    const { text } = word
    // A word that only the shell knows may be any option.
    const known = word.fixed &&
      ((this.#table.numbers && /^-\d+$/.test(text)) || this.#whole(word) || this.#prefixed(word) ||
        (!this.#table.words && !text.startsWith("--") && this.#letters(word)))
    if (!known) this.unknown ??= text
  }

  read(): void {
    let ended = false
    for (; this.#at < this.#args.length; this.#at++) {
      const word = this.#args[this.#at] as Word
      if (!ended && word.text === "--") ended = true
      else if (ended || !/^-./.test(word.text)) {
        this.operands.push(word)
      } else this.#option(word)
    }
    const kinds = this.#first ? this.#table.operands.slice(1) : this.#table.operands
    for (const [at, word] of this.operands.entries()) {
      const isLast = at > 0 && at === this.operands.length - 1
      const kind = (isLast ? this.#table.last : undefined) ?? kinds[Math.min(at, kinds.length - 1)]
      if (kind === undefined) this.unknown ??= word.text
      else this.named.push({ word, text: word.text, kind, operand: !ended })
    }
  }
}

/** Parses a call. */
export const readCall = <Word extends CallWord>(table: Table, args: ReadonlyArray<Word>): Call<Word> => {
  const reader = new CallReader(table, args)
  reader.read()
  const { below, hidden, named, operands, options, unknown } = reader
  const here = table.here || below
  const names = named.some(({ kind, operand }) => operand && (kind === "read" || kind === "below"))
  return { unknown, named, below, hidden: hidden || !table.skipsHidden, here: here && !names, options, operands }
}

/** What find runs for its matches. */
interface FindCall<Word> {
  /** The first word that is not known to be harmless. */
  readonly unknown: string | undefined
  readonly starts: ReadonlyArray<Word>
  /** Commands in which `{}` is the match. */
  readonly runs: ReadonlyArray<ReadonlyArray<Word>>
  /** The names that it searches for, if it can find no others. */
  readonly names: ReadonlyArray<string>
}

const alone = new Set(
  `-a -and -o -or -not ! ( ) , -print -print0 -ls -prune -quit -true -false -empty -depth -d -mount -xdev -noleaf -readable -writable
  -executable -nouser -nogroup -daystart -ignore_readdir_race -noignore_readdir_race -nowarn -warn -P --help -help --version
  -version`.split(/\s+/)
)

const valued = new Set(
  `-name -iname -path -ipath -wholename -iwholename -regex -iregex -regextype -type -xtype -size -mtime -atime -ctime -mmin -amin -cmin
  -perm -user -group -uid -gid -links -inum -fstype -maxdepth -mindepth -printf -lname -ilname -used -newermt -newerat -newerct -newerBt
  -D`.split(/\s+/)
)

/** Tests whose value is a file. */
const files = new Set(["-newer", "-anewer", "-cnewer", "-samefile"])

/** Parses the arguments. */
export const findCall = <Word extends CallWord>(args: ReadonlyArray<Word>): FindCall<Word> => {
  const starts: Array<Word> = []
  const runs: Array<ReadonlyArray<Word>> = []
  const names: Array<string> = []
  let unknown: string | undefined
  let at = 0
  while (args[at]?.text === "-P") at++
  for (let word = args[at]; word !== undefined && !/^[-(),!]/.test(word.text); word = args[++at]) starts.push(word)
  const isPlain = !args.some(({ text }) => /^(?:-o|-or|!|-not|,|\(|-iname)$/.test(text))
  for (; at < args.length; at++) {
    const word = args[at] as Word
    const { text } = word
    const value = args[at + 1]
    if (word.fixed && alone.has(text)) continue
    if (word.fixed && valued.has(text) && value?.fixed === true) {
      if (text === "-name" && isPlain) names.push(value.text)
      at++
    } else if (word.fixed && files.has(text) && value?.fixed === true) {
      starts.push(value)
      at++
    } else if (word.fixed && text === "-exec") {
      const end = args.findIndex((each, n) => n > at && /^[;+]$/.test(each.text))
      const run = args.slice(at + 1, end)
      if (end < 0 || run.length === 0) unknown ??= text
      else runs.push(run)
      at = Math.max(end, at)
    } else unknown ??= text
  }
  return { unknown, starts, runs, names: names.length === 1 ? names : [] }
}

/** The commands of each that install, show, or run scripts of the project. All others run or change more than that. */
const ownCommands = lookup<ReadonlySet<string>>({
  npm: new Set(
    `add audit bin cache ci clean-install cit dedupe ddp diff dist-tags doctor explain find-dupes fund help i ic in info ins inst
    insta instal install install-ci-test install-clean install-test isntall it la list ll ls org outdated pack ping prefix prune
    publish query r rb rebuild remove restart rm root rum run run-script s sbom se search show shrinkwrap start stop t test tst un
    uninstall unlink up update upgrade urn v version view why whoami`.split(/\s+/)
  ),
  pnpm: new Set(
    `add audit bin dedupe fetch help i import info install install-test it la licenses list ll ls outdated pack prune publish rb
    rebuild recursive remove restart rm root run run-script show start stop store t test tst un uninstall up update upgrade view
    why`.split(/\s+/)
  ),
  yarn: new Set(
    `add audit autoclean bin cache check constraints dedupe explain help import info install licenses list outdated pack rebuild
    remove restart start stop test unlink up upgrade upgrade-interactive version versions why`.split(/\s+/)
  )
})

/** Names of the same command. */
const synonyms = lookup<ReadonlyArray<string>>({
  cargo: ["build b", "check c", "doc d", "remove rm", "run r", "test t"],
  npm: [
    "install add i in ins inst insta instal isnt isnta isntal isntall",
    "ci clean-install ic install-clean isntall-clean",
    "uninstall r remove rm un unlink",
    "run rum run-script urn",
    "test t tst",
    "exec x",
    "update udpate up upgrade"
  ],
  pnpm: ["install i", "remove rm un uninstall", "run run-script", "test t", "update up upgrade"]
})

/** The other names of a command of a package manager. */
export const otherNames = (manager: string, command: string): ReadonlyArray<string> =>
  synonyms[manager]?.map((each) => each.split(" ")).find((names) => names.includes(command))?.filter((each) =>
    each !== command
  ) ?? []

/** Names that only scripts have: no program has such a name. */
const isScript = (text: string): boolean =>
  /^[\w-]+(?::[\w-]+)+$/.test(text) ||
  /^(?:build|check|check-types|ci|clean|compile|coverage|deploy|dev|docs?|e2e|fix|format|generate|lint|lint-fix|prebuild|preview|release|serve|storybook|test-\w+|type-?check|types|validate|verify|watch)$/
    .test(text)

/** Where the arguments of a script begin, for managers that pass on all words behind its name. */
const scriptArguments = (manager: string, words: ReadonlyArray<string>): number | undefined => {
  if (manager !== "pnpm" && manager !== "yarn") return undefined
  const [first = "", second = ""] = words
  if (first === "run") return /^[\w:.-]+$/.test(second) ? 2 : undefined
  return isScript(first) || /^(?:start|t|test)$/.test(first) ? 1 : undefined
}

/** The name of the program that a manager would run; undefined for one of its own commands. */
export const carriedBy = (manager: string, operands: ReadonlyArray<string>): string | undefined => {
  const [sub, ...rest] = operands
  const commands = ownCommands[manager]
  if (commands === undefined || sub === undefined || (manager !== "npm" && isScript(sub))) return undefined
  if (manager === "yarn" && sub === "workspace" && rest.length > 1) return carriedBy(manager, rest.slice(1))
  // Yarn runs a script of this name, or else a program of a package.
  if (manager === "yarn" && sub === "run") return carriedBy(manager, rest)
  return commands.has(sub) ? undefined : sub
}

/** Programs with subcommands, each of which has its own table. */
const divided = new Set(["cargo", "git", "go"])

const compiler = /^(?:[\w.]+-)*(gcc|g\+\+|clang|clang\+\+|cc|c\+\+|cpp|c89|c99)(?:-\d+(?:\.\d+)*)?$/

/** The name of a program in the tables. A name with a version counts as the program itself. */
export const nameInTables = (program: string): string => {
  const name = program.slice(program.lastIndexOf("/") + 1)
  return compiler.exec(name)?.[1] ?? name
}

/** Whether a program has subcommands, which have to be in the tables. */
export const hasSubcommands = (name: string): boolean => divided.has(name)

/** The table of a program, or of one of its subcommands. */
export const tableFor = (name: string): Table | undefined => {
  const source = written[name] ?? generated[name]
  return source === undefined || !(Object.hasOwn(written, name) || Object.hasOwn(generated, name))
    ? undefined
    : tableOf(source)
}

/** What is known about a call: the name of its table, the table, and how it describes the arguments. */
export interface KnownCall<Word> {
  readonly name: string
  readonly table: Table
  readonly call: Call<Word>
}

/** Parses a call whose program is in the tables. `undefined` if it is not, or if its subcommand is not. */
export const knownCall = <Word extends CallWord>(
  program: string,
  args: ReadonlyArray<Word>
): KnownCall<Word> | undefined => {
  const base = nameInTables(program)
  const [first] = args
  const isDivided = divided.has(base)
  if (isDivided && first?.fixed !== true) return undefined
  const name = isDivided ? `${base} ${first?.text}` : base
  const table = tableFor(name)
  if (table === undefined) return undefined
  const own = scriptArguments(name, args.map(({ text }) => text)) ?? args.length
  const call = readCall(table, isDivided ? args.slice(1) : args.slice(0, own))
  const passed = args.slice(own).map((word): Named<Word> => ({ word, text: word.text, kind: "text", operand: true }))
  return { name, table, call: { ...call, named: [...call.named, ...passed] } }
}
