/** Splits a command line into the parts that rules apply to: each program that it would run, with its arguments. */
import { otherNames } from "../programs/programs.ts"
import { isStream } from "./callFiles.ts"
import { obeysInput, subcommandWords } from "./offers.ts"
import { argumentFiles, commandsForEach, withListed } from "./outputs.ts"
import type { Invocation, Parts } from "./parts.ts"
import { eachOf, readLine, type SimpleCommand } from "./readLine.ts"
import { runsWhatItIsGiven } from "./risks.ts"
import { isHarmlessToPrograms, isHarmlessToShell, isUnknownToReaders, isUnknownToTools } from "./textRisks.ts"
import { judgeCall, mayWrap, runsProject } from "./unlisted.ts"
import { type Argument, plainWord, said, spelled } from "./words.ts"
import { programName, unwrap } from "./wrappers.ts"

/** How deeply nested code for interpreters is parsed, for rules that deny. */
const maximumDepth = 3

/** How many wrappers may precede a program. */
const maximumWrappers = 16

/** How many words of a command are checked as the start of another one, and the maximum length of those. */
const suffixes = { count: 32, words: 256 }

const movers = new Set(["cd", "pushd", "popd"])

/** The target of a directory change, if its text says so. */
const moveOf = ({ args, program, repeated }: Step): string | undefined => {
  const operands = args.filter(({ text }) => !/^-(?:-|[LPe@]+)$/.test(text))
  const [to] = operands
  const plain = program === "cd" && !repeated && operands.length === 1 && to !== undefined && to.fixed
  return plain && to.text !== "-" && to.text !== "" && to.tilde === to.text.startsWith("~") ? to.text : undefined
}

interface Step {
  readonly program: string
  readonly args: ReadonlyArray<Argument>
  readonly repeated: boolean
  readonly fed: boolean
  readonly settings: SimpleCommand["settings"]
  /** Why it runs something that its arguments do not show. */
  readonly risk?: string
}

const isOption = (text: string): boolean => /^[-+]./.test(text)

/** Options that take no value, in whatever program. */
const flag = /^(?:-[pPqy]|--|--(?:no-[\w-]+|silent|quiet|verbose|debug|paginate|bare|yes|json|offline|locked|frozen))$/

/** How many words before a subcommand are read as options. */
const maximumOptions = 16

/** Where the first operand of a call may be: an option may take the next word as its value, or not. */
const startsOf = (args: ReadonlyArray<Argument>): ReadonlyArray<number> => {
  const reached = new Set([0])
  for (const at of reached) {
    const text = args[at]?.text ?? ""
    if (!isOption(text) || at > maximumOptions) continue
    reached.add(at + 1)
    if (!text.includes("=") && !text.startsWith("+") && !flag.test(text)) reached.add(at + 2)
  }
  return [...reached].filter((at) => args[at] !== undefined && !isOption(args[at].text))
}

/** How many words of a call name its subcommand, and so no other program: `docker rm x` does not run `rm`. */
const ownWords = (program: string, args: ReadonlyArray<Argument>, count = subcommandWords(program, args)): number => {
  if (
    count === 0 ||
    !/^(?:apt|brew|composer|docker|dotnet|gh|git|kubectl|nerdctl|pip|podman|rustup|systemctl|terraform)$/.test(program)
  ) return 0
  const [at = 0] = startsOf(args)
  return at + 1 + ownWords(program, args.slice(at + 1), count - 1)
}

/** The arguments without the options before the words of a subcommand. */
const withoutOptions = (
  args: ReadonlyArray<Argument>,
  count: number
): ReadonlyArray<ReadonlyArray<Argument>> => {
  const starts = count === 0 ? [] : startsOf(args)
  if (starts.length === 0) return [args]
  return starts.flatMap((at) =>
    withoutOptions(args.slice(at + 1), count - 1).map((rest) => [args[at] as Argument, ...rest])
  )
}

class Dismantler {
  readonly steps: Array<Step> = []
  readonly settings: Array<string> = []
  readonly also = new Set<string>()
  unclear: string | undefined

  /** Follows a command through its wrappers to the programs that it runs. */
  command({ fed, input, loops, repeated, settings, words: written }: SimpleCommand, wrappers = 0): void {
    const [first, ...own] = written
    if (first === undefined) return
    const args = withListed(programName(first.text), own)
    const words = [first, ...args]
    const risky = settings.filter(({ name, source }) =>
      !isHarmlessToPrograms(name, source) && !(name === "IFS" && first.text === "read")
    )
    if (!first.fixed || first.tilde || /^$|\s/.test(first.text)) {
      this.unclear ??= `${first.source} is not known before it runs, and it is what would be run.`
    }
    const program = programName(first.text)
    if (program !== first.text) this.also.add(said(words))
    this.#named(program, args)
    const wrapped = unwrap(program, args)
    if (wrapped !== undefined && typeof wrapped === "object") {
      this.also.add(said([plainWord(program), ...args]))
      const sets = wrapped.sets.map(({ text }) => ({ name: text.split("=", 1).join(""), source: text }))
      if (wrappers < maximumWrappers) {
        const inner = { words: args.slice(wrapped.at), settings: [...settings, ...sets], loops, repeated, fed, input }
        return this.command(inner, wrappers + 1)
      }
      this.unclear ??= "More programs stand before one another in it than are followed."
    }
    const step = { program, args, repeated, fed, settings: risky }
    if (wrappers < maximumWrappers) {
      // xargs passes on its input if it does not read it.
      const feeds = program !== "xargs" || argumentFiles(args).length > 0
      for (const inner of commandsForEach(program, args, input)) {
        this.command(
          { words: inner, settings, loops, repeated, fed: fed && feeds, input: [] },
          wrappers + 1
        )
      }
    } else this.unclear ??= "More programs stand before one another in it than are followed."
    this.steps.push(wrapped === "unclear" ? { ...step, risk: `${program} runs something that is not known` } : step)
    if (runsWhatItIsGiven(program) || mayWrap(program) || wrapped === "unclear") {
      this.given(args, 0, ownWords(program, args))
    }
  }

  /** A call as rules name it: by the name of its program and its subcommand, without the options before that. */
  #named(program: string, args: ReadonlyArray<Argument>): void {
    const name = program.slice(program.lastIndexOf("/") + 1).replace(/^git-(?=[a-z])/, "git ")
    if (name !== program) this.also.add(said([plainWord(name), ...args]))
    for (const [sub, ...rest] of withoutOptions(args, subcommandWords(name, args))) {
      if (sub === undefined) continue
      for (const each of [sub, ...otherNames(name, sub.text).map(plainWord)]) {
        this.also.add(said([plainWord(name), each, ...rest]))
      }
    }
  }

  /** What an interpreter may run of its arguments, for rules that deny: each tail of them, and each one as code. */
  given(args: ReadonlyArray<Argument>, depth = 0, from = 0): void {
    for (let at = 0; at < Math.min(args.length, suffixes.count); at++) {
      const [first, ...rest] = args.slice(at, at + suffixes.words)
      if (first === undefined) continue
      const value = /^[^\s=]+=!?(.*)$/s.exec(first.text)?.[1]
      for (const text of value === undefined ? [first.text] : [first.text, value]) {
        if (depth < maximumDepth && /[\s;&|$`<>({]/.test(text)) this.#code(text, depth + 1)
      }
      if (at < from || isOption(first.text)) continue
      const program = programName(first.text)
      this.also.add(said([plainWord(program), ...rest]))
      this.#named(program, rest)
    }
  }

  #code(text: string, depth: number): void {
    for (const { words } of readLine(text).commands) {
      const [first, ...args] = words
      if (first === undefined) continue
      this.also.add(said(words))
      const inner = new Dismantler()
      inner.command({ words, settings: [], repeated: false, fed: false, loops: [], input: [] })
      for (const { args: given, program } of inner.steps) {
        this.also.add(said([plainWord(program), ...given]))
        this.#named(program, given)
        if (runsWhatItIsGiven(program)) this.given(given, depth)
      }
      if (!first.fixed) this.given(args, depth)
    }
  }
}

/** Programs that take any variable as their own. */
const takesVariables = new Set(["cmake", "gmake", "make", "ninja"])

const invocation = ({ args, fed, program, risk: known, settings: given }: Step, still: boolean): Invocation => {
  const words = [plainWord(program), ...args]
  const judged = judgeCall(program, args, fed, still)
  const isUnknown = ({ name, source }: Step["settings"][number]) =>
    judged.reads ? isUnknownToReaders(name) : !takesVariables.has(program) && isUnknownToTools(name, source)
  const settings = given.filter((each) => !isUnknown(each)).map(({ source }) => source)
  const set = settings.length === 0 ? undefined : `${settings.join(" ")} changes what ${program} does`
  const risk = known ?? set ?? judged.risk
  const pattern = risk === undefined ? said(words) : [...settings, spelled(words)].join(" ")
  const beginning = known === undefined && set === undefined ? judged.beginning : undefined
  return {
    program,
    args,
    pattern,
    risk,
    reads: risk === undefined && judged.reads,
    runs: known !== undefined || set !== undefined || judged.runs === true,
    runsProject: runsProject(program, args),
    ...(beginning === undefined
      ? {}
      : { beginning: spelled(words.slice(0, beginning.count)), ordinary: beginning.ordinary }),
    ...(judged.known === undefined ? {} : { call: judged.known.call })
  }
}

/** Splits a line. */
export const takeApart = (text: string): Parts => {
  const line = readLine(text)
  const dismantler = new Dismantler()
  for (const command of eachOf(line)) dismantler.command(command)
  const { also, steps } = dismantler
  const moving = steps.filter(({ program }) => movers.has(program))
  const writes = line.opened.some((each) => each.writes && !isStream(each.target.text))
  const loose = steps.map((step) => invocation(step, true))
  const isStill = !writes && loose.every(({ reads }) => reads)
  for (const { args, program, runs } of loose) {
    if (runs === true && !runsWhatItIsGiven(program)) dismantler.given(args, 0, ownWords(program, args))
  }
  const invocations = loose.map((each, at) =>
    isStill || each.args.every(({ fixed }) => fixed) ? each : invocation(steps[at] as Step, false)
  )
  for (const [at, { pattern }] of invocations.entries()) {
    const step = steps[at] as Step
    const plain = said([plainWord(step.program), ...step.args])
    if (plain !== pattern) also.add(plain)
  }
  const fed = steps.find((each) => each.fed && obeysInput(each))
  const to = moving.map(moveOf).filter((each) => each !== undefined)
  return {
    invocations,
    settings: line.settings.filter(({ name, source }) => !isHarmlessToShell(name, source)).map(({ source }) => source),
    also: [...also],
    opened: line.opened,
    listed: line.listed,
    tested: line.tested,
    substitutes: line.substitutes,
    moves: to.length < moving.length ? undefined : { to, sure: to.length === line.leads },
    unclear: line.unclear ?? dismantler.unclear ??
      (fed === undefined ? undefined : `${fed.program} runs the text that it reads, and that is not known.`)
  }
}
