/**
 * Finds everything that a command line would do: its simple commands, wherever they are, its redirections and its
 * assignments.
 */
import * as Either from "effect/Either"
import {
  forEachChild,
  type ParameterExpansionPart,
  parse,
  type ParsedScript,
  type SyntaxNode,
  type Word,
  type WordPart
} from "unbash"
import { unaccounted } from "./account.ts"
import { outputOf } from "./outputs.ts"
import { type Argument, documentIn, expandedCount, placeholder, readWord } from "./words.ts"

type Command = Extract<SyntaxNode, { type: "Command" }>

const isQuiet = (node: Command["suffix"][number]): boolean =>
  node.type === "Redirect" && node.descriptor?.type === "FileDescriptor" && node.descriptor.value === 2

/** The words of a simple command that sets nothing, and redirects nothing but its errors. */
const plainWords = (node: SyntaxNode): ReadonlyArray<Argument> | undefined => {
  if (node.type !== "Command" || node.name === undefined || node.prefix.length > 0) return undefined
  const rest = node.suffix.filter((each) => !isQuiet(each))
  return rest.every((each) => each.type === "Word") ? [node.name, ...rest].map(readWord) : undefined
}

/** The simple commands of a pipeline, or a single one. */
const pipelineOf = (part: WordPart): ReadonlyArray<ReadonlyArray<Argument>> | undefined => {
  const only = part.type === "CommandExpansion" ? part.script?.commands : undefined
  if (only?.length !== 1 || only[0] === undefined || only[0].background === true) return undefined
  const { command } = only[0]
  const isPlain = command.type === "Pipeline" && command.prefixes.length === 0 &&
    command.operators.every((operator) => operator === "|")
  const commands = (isPlain ? command.commands : [command]).map(plainWords)
  return commands.every((words) => words !== undefined) ? commands : undefined
}

/** Reads a word. */
const argumentOf = (word: Word): Argument => {
  const argument = readWord(word)
  const [part, ...others] = argument.fixed ? [] : word.parts ?? []
  if (part === undefined || others.length > 0) return argument
  // This is the path of a descriptor, whatever its command writes.
  if (part.type === "ProcessSubstitution") return { ...argument, output: { kind: "word" } }
  const [quoted, ...more] = part.type === "DoubleQuoted" ? part.parts : []
  const commands = pipelineOf(more.length === 0 && quoted !== undefined ? quoted : part)
  const output = commands === undefined ? undefined : outputOf(commands)
  // Between quotes, all lines become one argument.
  if (output === undefined || (quoted !== undefined && output.kind === "paths")) return argument
  return { ...argument, output }
}

/** A variable that the line sets, and its value. */
interface Setting {
  readonly name: string
  readonly source: string
}

/** One simple command. */
export interface SimpleCommand {
  /** The program and its arguments; at least one. */
  readonly words: ReadonlyArray<Argument>
  /** The assignments for this command alone. */
  readonly settings: ReadonlyArray<Setting>
  /** Whether it only sets the variable of a loop. */
  readonly heads?: boolean
  /** Whether it may run more than once: in a loop, or in a function. */
  readonly repeated: boolean
  /** The possible values of the variables of the loops around it, if known. */
  readonly loops: ReadonlyArray<Loop>
  /** Whether a pipe, a file or a text of the line is its standard input. */
  readonly fed: boolean
  /** The simple commands before it in its pipeline, if all of them are simple. */
  readonly input: ReadonlyArray<ReadonlyArray<Argument>>
}

/** The variable of a loop, and its words. */
interface Loop {
  readonly name: string
  readonly words: ReadonlyArray<Argument>
}

/** A file that a redirection opens. */
interface Opened {
  readonly target: Argument
  readonly writes: boolean
}

/** What a line would do. */
interface Line {
  readonly commands: ReadonlyArray<SimpleCommand>
  /** Shell variables that it sets. */
  readonly settings: ReadonlyArray<Setting>
  readonly opened: ReadonlyArray<Opened>
  /** The operands of `[[ ]]`. */
  readonly tested: ReadonlyArray<Argument>
  /** Words of lists that the shell replaces with file names. */
  readonly listed: ReadonlyArray<Argument>
  /** How many directory changes come first, each of which has to succeed for the rest to run. */
  readonly leads: number
  /** Whether the line has command substitutions. */
  readonly substitutes: boolean
  /** Why it is unknown what the line would do; `undefined` if it is known. */
  readonly unclear: string | undefined
}

/** The maximum length of a line, in characters: no system starts a longer one. */
const maximumLength = 131_072

/** How deeply substitutions may be nested, and how many of their characters are parsed: each is parsed again. */
const substituted = { depth: 16, length: 4 * maximumLength, count: 1_000 }

/** How many nodes of a line are checked: those of about five thousand commands. */
const maximumNodes = 30_000

/** How many words, and how many characters of them, a line's braces may expand to. */
const expanded = { words: 10_000, length: 1_000_000 }

const isNumber = (word: Word): boolean => /^\s*-?\d+\s*$/.test(word.text)

const isName = (text: string): boolean => /^[A-Za-z_][A-Za-z0-9_]*$/.test(text)

/**
 * Whether a substitution is affected by a bug of bash 5.2, which rewrites substitutions before it parses them. It then
 * loses the separator after a here-document, and the next command becomes arguments of another.
 */
const isRewritten = (text: string, commands: ReadonlyArray<{ readonly command: SyntaxNode }>): boolean =>
  /(?:^|[^<])<<(?!<)/.test(text) && (commands.length > 1 || commands[0]?.command.type !== "Command")

/** Operators of `[[ ]]` with arithmetic operands: names in them are looked up, and their values are run. */
const arithmetic = new Set(["-eq", "-ne", "-lt", "-le", "-gt", "-ge"])

/** Why an expansion may run something that is not in the text of the line. */
const surprise = ({ index, operation, prefix, text }: ParameterExpansionPart): string | undefined => {
  if (prefix === "!") return `${text} takes the name of a variable from another one`
  if (index !== undefined && !/^[@*]$/.test(index.text) && !isNumber(index)) return `${text} computes an index`
  switch (operation?.type) {
    case "Unknown":
      return `${text} is not known`
    case "Transform":
      return /^[QULEKaku]$/.test(operation.operand.text) ? undefined : `${text} runs what a variable holds`
    case "Slice":
      return isNumber(operation.offset) && (operation.length === undefined || isNumber(operation.length))
        ? undefined
        : `${text} computes a place`
    default:
      return undefined
  }
}

/** Whether a node has its own standard input, and that is not known to be empty. */
const isFed = (node: SyntaxNode): boolean =>
  node.type === "Coproc" ||
  ((node.type === "Command" || node.type === "Redirected") &&
    node.redirects.some((each) =>
      each.operator.startsWith("<") && !(each.type === "Redirect" && each.target?.value === "/dev/null")
    ))

const isMove = (node: SyntaxNode): boolean =>
  node.type === "Command" && node.name?.text === "cd" && node.prefix.length === 0

/** In `cd a && cd b && …`, the rest only runs in the last directory. */
const leadsOf = ({ commands: [first, ...others] }: Extract<SyntaxNode, { type: "Script" }>): number => {
  if (first?.command.type !== "AndOr" || others.length > 0 || first.background === true) return 0
  const { commands, operators } = first.command
  const other = commands.findIndex((each) => !isMove(each))
  return operators.every((operator) => operator === "&&") ? Math.max(other, 0) : 0
}

type Substitution = Extract<
  SyntaxNode,
  { type: "CommandExpansion" | "ProcessSubstitution" | "ArithmeticCommandExpansion" }
>

const isKnown = ({ fixed, glob, output }: Argument): boolean => fixed || glob !== undefined || output !== undefined

class Reader {
  readonly commands: Array<SimpleCommand> = []
  readonly settings: Array<Setting> = []
  readonly opened: Array<Opened> = []
  readonly listed: Array<Argument> = []
  readonly tested: Array<Argument> = []
  leads = 0
  substitutes = false
  unclear: string | undefined
  #depth = 0
  #length = 0
  #count = 0
  #repeats = 0
  #feeds = 0
  #bodies = 0
  #quotes = 0
  #nodes = 0
  #expandedWords = 0
  #expandedLength = 0
  #documents = false
  #functions = false
  #loops: ReadonlyArray<Loop> = []
  /** The commands that set the variable of a loop. */
  readonly #heads = new Set<SyntaxNode>()
  /** The commands behind a pipe. */
  readonly #piped = new Set<SyntaxNode>()
  /** The commands before each command of a pipeline. */
  readonly #inputs = new Map<SyntaxNode, ReadonlyArray<ReadonlyArray<Argument>>>()

  #doubt(reason: string): void {
    this.unclear ??= reason
  }

  #repeated(node: SyntaxNode): void {
    this.#repeats++
    this.#children(node)
    this.#repeats--
  }

  /** Reads what is done with each word of a list. */
  #loop(node: Extract<SyntaxNode, { type: "For" | "Select" }>): void {
    const words = node.wordlist?.map(argumentOf)
    this.#list(words ?? [])
    const outer = this.#loops
    // The selection may be empty.
    if (node.type === "For" && words?.every(isKnown) === true) {
      this.#loops = [{ name: node.name.value, words }, ...outer]
    }
    this.#repeated(node)
    this.#loops = outer
  }

  /** Reads what is done with each line of a known output: `git ls-files | while read -r f; do …; done`. */
  #lines(node: Extract<SyntaxNode, { type: "While" }>): void {
    const [head, ...others] = node.clause.commands
    const read = others.length === 0 && head?.command.type === "Command" ? head.command : undefined
    const [program, ...args] = read?.args.every(({ type }) => type === "Word") === true
      ? [read.name?.text, ...read.args.map(({ text }) => text)]
      : []
    const name = program === "read" ? args.filter((each) => each !== "-r") : []
    const output = name.length === 1 && isName(name[0] ?? "") ? outputOf(this.#inputs.get(node) ?? []) : undefined
    if (output === undefined || read === undefined || name[0] === undefined) return this.#repeated(node)
    const outer = this.#loops
    this.settings.push({ name: name[0], source: "" })
    this.#loops = [{ name: name[0], words: [placeholder(output)] }, ...outer]
    this.#heads.add(read)
    this.#repeated(node)
    this.#loops = outer
  }

  #list(words: ReadonlyArray<Argument>): void {
    this.listed.push(...words.filter(({ choices, glob }) => glob !== undefined || choices !== undefined))
  }

  #deeper(node: SyntaxNode): void {
    this.#depth++
    this.#length += node.end - node.pos
    this.#count++
    if (this.#depth > substituted.depth || this.#length > substituted.length || this.#count > substituted.count) {
      this.#doubt("Substitutions stand in one another too deep to be read, or they are too many.")
    } else this.#children(node)
    this.#depth--
  }

  /** Reads a substitution in a word. Quotes around it do not apply inside. */
  #substitution(node: Substitution): void {
    const quotes = this.#quotes
    this.#quotes = 0
    this.#deeper(node)
    this.#quotes = quotes
  }

  /** Counts the words that brace expansion makes of a word. */
  #braces(word: Word): void {
    const count = expandedCount(word)
    if (count === 1) return
    this.#expandedWords += count
    this.#expandedLength += count * word.text.length
    if (this.#expandedWords > expanded.words || this.#expandedLength > expanded.length) {
      const much = `${expanded.words.toLocaleString("en")} words or ${expanded.length.toLocaleString("en")} characters`
      this.#doubt(`Its braces stand for more than ${much}.`)
    }
  }

  #children(node: SyntaxNode): void {
    forEachChild(node, (child) => this.read(child))
  }

  /** Reads a line, and the parts of it that only count as a whole. */
  whole(line: string, script: ParsedScript): void {
    this.read(script)
    const left = this.unclear === undefined ? unaccounted(line, script) : undefined
    if (left !== undefined) this.#doubt(`${left} cannot be read.`)
    if (this.#documents && this.#functions) this.#doubt("What cat writes is not known where there are functions.")
  }

  read(node: SyntaxNode): void {
    const fed = isFed(node) || this.#piped.has(node) ? 1 : 0
    this.#feeds += fed
    this.#node(node)
    this.#feeds -= fed
  }

  #node(node: SyntaxNode): void {
    if (++this.#nodes > maximumNodes) {
      return this.#doubt("It has more parts than are checked. Write it to a script, or make several calls of it.")
    }
    switch (node.type) {
      case "Script":
        for (const { message } of node.errors ?? []) this.#doubt(`It cannot be read: ${message}.`)
        if (this.#depth === 0) this.leads = leadsOf(node)
        return this.#children(node)
      case "Pipeline": {
        const before = node.commands.map(plainWords)
        for (const [at, each] of node.commands.entries()) {
          const input = before.slice(0, at)
          if (at > 0) this.#piped.add(each)
          if (node.operators[0] === "|" && input.every((words) => words !== undefined)) this.#inputs.set(each, input)
        }
        return this.#children(node)
      }
      case "Command":
        this.#command(node)
        return this.#children(node)
      case "Assignment":
        if (node.index !== undefined && !isNumber(node.index)) this.#doubt(`${node.text} computes an index.`)
        return this.#children(node)
      case "ArrayValue":
        if (node.elements.some(({ text }) => text.startsWith("["))) this.#doubt("An array computes its indexes.")
        this.#list(node.elements.map(readWord))
        return this.#children(node)
      case "Word":
        this.#braces(node)
        return this.#children(node)
      case "For":
      case "Select":
        this.settings.push({ name: node.name.value, source: `${node.name.text}=…` })
        return this.#loop(node)
      case "Function":
        this.#functions = true
        return this.#repeated(node)
      case "While":
        return this.#lines(node)
      case "ArithmeticFor":
        if (node.test === undefined) this.#doubt("A loop without a test has no end.")
        return this.#repeated(node)
      case "Coproc":
        this.settings.push({ name: node.name?.value ?? "COPROC", source: `${node.name?.text ?? "COPROC"}=…` })
        return this.#children(node)
      case "CommandExpansion":
      case "ProcessSubstitution":
        this.substitutes = true
        this.#documents ||= documentIn(node) !== undefined
        if (node.script === undefined) this.#doubt(`${node.text} cannot be read.`)
        else if (isRewritten(node.text, node.script.commands)) {
          this.#doubt(`${node.text} has a here-document beside other commands, which bash may take together.`)
        }
        return this.#substitution(node)
      case "ArithmeticExpansion":
        if (node.expression === undefined) this.#doubt(`${node.text} cannot be read.`)
        return this.#deeper(node)
      case "ArithmeticCommand":
        if (node.expression === undefined) this.#doubt(`((${node.body})) cannot be read.`)
        return this.#children(node)
      case "ArithmeticWord":
        if (!/^\d+$/.test(node.value)) this.#doubt(`The arithmetic of ${node.value} may run what a variable holds.`)
        return this.#children(node)
      case "ArithmeticCommandExpansion":
        this.#doubt("Arithmetic computes with what a command writes.")
        return this.#substitution(node)
      case "ParameterExpansion": {
        // Here bash treats a single quote as literal, and runs what is between two of them.
        if (this.#bodies > 0 && node.text.includes("'")) this.#doubt(`${node.text} has quotes in a here-document.`)
        // Here bash rewrites commands between single quotes, and then parses its own output.
        if (this.#quotes > 0 && node.text.includes("'") && /\$\(|`/.test(node.text)) {
          this.#doubt(`${node.text} has commands and single quotes within double quotes.`)
        }
        const found = surprise(node)
        if (found !== undefined) this.#doubt(`${found}.`)
        const { operation } = node
        if (operation?.type === "Default" && operation.operator.endsWith("=")) {
          this.settings.push({ name: node.parameter, source: node.text })
        }
        return this.#deeper(node)
      }
      case "TestBinary":
        if (arithmetic.has(node.operator) && !(isNumber(node.left) && isNumber(node.right))) {
          this.#doubt(`[[ ${node.left.text} ${node.operator} ${node.right.text} ]] may run what its operands hold.`)
        }
        if (/^-(?:nt|ot|ef)$/.test(node.operator)) this.tested.push(readWord(node.left), readWord(node.right))
        return this.#children(node)
      case "TestUnary":
        if (/^-[vR]$/.test(node.operator) && !isName(node.operand.text)) {
          this.#doubt(`[[ ${node.operator} ${node.operand.text} ]] may run what its operand holds.`)
        }
        if (/^-[abcdefghkprsuwxGLNOS]$/.test(node.operator)) this.tested.push(readWord(node.operand))
        return this.#children(node)
      case "Redirect":
        this.#redirect(node)
        return this.#children(node)
      case "HereDoc":
        if (node.closing === undefined || node.delimiter === undefined) this.#doubt("A here-document has no end.")
        return this.#children(node)
      case "HereDocBody":
        this.#bodies++
        this.#children(node)
        this.#bodies--
        return
      case "DoubleQuoted":
        this.#quotes++
        this.#children(node)
        this.#quotes--
        return
      case "FileDescriptorVariable":
        this.settings.push({ name: node.name, source: `{${node.name}}` })
        return
      case "LocaleString":
        this.#doubt(`${node.text} says what a translation says.`)
        return this.#children(node)
      default:
        return this.#children(node)
    }
  }

  #command(node: Extract<SyntaxNode, { type: "Command" }>): void {
    const settings = node.prefix.flatMap((each): ReadonlyArray<Setting> =>
      each.type === "Assignment" ? [{ name: each.name, source: each.text }] : []
    )
    if (node.name === undefined) this.settings.push(...settings)
    else {
      const rest = node.args.map((each) => (each.type === "Word" ? argumentOf(each) : assigned(each.text)))
      this.commands.push({
        words: [readWord(node.name), ...rest],
        input: this.#inputs.get(node) ?? [],
        settings,
        repeated: this.#repeats > 0,
        fed: this.#feeds > 0,
        heads: this.#heads.has(node),
        loops: this.#loops
      })
    }
  }

  #redirect({ operator, target }: Extract<SyntaxNode, { type: "Redirect" }>): void {
    if (target === undefined) return this.#doubt("A redirection has no target.")
    const word = readWord(target)
    if (/^[<>]&$/.test(operator) && word.fixed && /^(?:\d+-?|-)$/.test(word.text)) return
    this.opened.push({ target: word, writes: operator !== "<" && operator !== "<&" })
  }
}

/** An assignment as an argument, as for `export`. Its name is known, but perhaps not its value. */
const assigned = (source: string): Argument => ({ text: source, source, fixed: true, tilde: false })

/** Reads a line. */
export const readLine = (line: string): Line => {
  const reader = new Reader()
  if (line.length > maximumLength) return { ...reader, unclear: "It is too long to be read." }
  if (line.includes("\0")) return { ...reader, unclear: "It has a NUL character." }
  // Nesting deeper than the stack counts as a parse error. What was found until then is kept.
  const read = Either.try(() => reader.whole(line, parse(line)))
  return Either.isLeft(read) ? { ...reader, unclear: "It cannot be read." } : { ...reader }
}

/** The maximum number of commands that one command is expanded to. */
const maximumCommands = 64

/** Commands that set variables by name. */
const setters = new Set(
  `. declare eval export getopts let local mapfile printf read readarray readonly set source trap typeset unset wait`
    .split(/\s+/)
)

/** The variables that a line sets only at the head of one loop. */
const steady = ({ commands, settings }: Line): ReadonlySet<string> => {
  const sets = ({ heads, settings: own, words }: SimpleCommand) =>
    heads !== true && (own.length > 0 ||
      words.some(({ text }, at) =>
        setters.has(text) && (text !== "printf" || words.slice(at).some((each) => each.text.startsWith("-v")))
      ))
  if (commands.some(sets)) return new Set()
  const once = new Set<string>()
  const again = new Set<string>()
  for (const { name } of settings) (once.has(name) ? again : once).add(name)
  return new Set([...once].filter((name) => !again.has(name)))
}

/** The possible values of a word that is only a variable; `undefined` for any other word. */
const meaning = ({ source }: Argument, loops: ReadonlyArray<Loop>): Loop | undefined => {
  const [, quote, plain, braced] = /^("?)\$(?:([A-Za-z_]\w*)|\{([A-Za-z_]\w*)\})\1$/.exec(source) ?? []
  const loop = loops.find(({ name }) => name === (plain ?? braced))
  // Without quotes, the shell splits the value, and looks for matching files.
  const known = quote === "\"" ||
    loop?.words.every(({ fixed, output, text }) => output !== undefined || (fixed && /^[\w./:@%+,=-]+$/.test(text)))
  return known === true ? loop : undefined
}

const replaced = (command: SimpleCommand, names: ReadonlySet<string>): ReadonlyArray<SimpleCommand> => {
  const loops = command.loops.filter(({ name }) => names.has(name))
  let made: ReadonlyArray<SimpleCommand> = [command]
  for (const loop of loops) {
    const isMeant = (word: Argument) => meaning(word, loops) === loop
    if (!command.words.some(isMeant)) continue
    if (made.length * loop.words.length > maximumCommands) return [command]
    made = made.flatMap((each) =>
      loop.words.map((value) => ({ ...each, words: each.words.map((word) => isMeant(word) ? value : word) }))
    )
  }
  return made
}

/** The commands of a line. A command in a loop appears once for each word of the loop. */
export const eachOf = (line: Line): ReadonlyArray<SimpleCommand> => {
  if (line.commands.every(({ loops }) => loops.length === 0)) return line.commands
  const names = steady(line)
  return line.commands.flatMap((command) => replaced(command, names))
}
