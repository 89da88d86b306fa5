/** The parts of a command line. */
import type { Call } from "../programs/programs.ts"
import type { readLine } from "./readLine.ts"
import { type Argument, plainWord, spelled } from "./words.ts"

/** A program that the line would run. */
export interface Invocation {
  /** Its name in rules. */
  readonly program: string
  readonly args: ReadonlyArray<Argument>
  /** How rules see it. */
  readonly pattern: string
  /** Why no wildcard may allow it; `undefined` if one may. */
  readonly risk: string | undefined
  /** The prefix that a rule with a wildcard needs to allow it nevertheless. */
  readonly beginning?: string
  /** Whether a rule for the name of the program is enough for that. */
  readonly ordinary?: boolean
  /** Whether it may run a command that its words do not show. */
  readonly runs?: boolean
  /** Whether it runs files of the project. */
  readonly runsProject?: boolean
  /** Where it writes although its arguments do not name that: a remote that is a directory. */
  readonly writes?: ReadonlyArray<string>
  /** Whether it only reads files that have their own questions. */
  readonly reads: boolean
  /** What the table of its program says about its arguments. */
  readonly call?: Call<Argument>
}

/** The directories that a line changes to, in order, and whether everything else in it only runs in the last one. */
export interface Moves {
  readonly to: ReadonlyArray<string>
  readonly sure: boolean
}

/** The parts of a line. */
export interface Parts {
  readonly invocations: ReadonlyArray<Invocation>
  /** Settings that no wildcard allows, as written. */
  readonly settings: ReadonlyArray<string>
  /** Other ways to write its commands, for rules that deny. */
  readonly also: ReadonlyArray<string>
  readonly opened: ReturnType<typeof readLine>["opened"]
  readonly listed: ReturnType<typeof readLine>["listed"]
  readonly tested: ReturnType<typeof readLine>["tested"]
  readonly substitutes: boolean
  /** `undefined` if the line changes to a directory that cannot be determined. */
  readonly moves: Moves | undefined
  readonly unclear: string | undefined
}

/** A call as one that no wildcard allows, unless its rule begins as `more` says. */
export const asRisk = (call: Invocation, risk: string, more: Partial<Invocation> = {}): Invocation => ({
  ...call,
  pattern: spelled([plainWord(call.program), ...call.args]),
  risk,
  reads: false,
  ...more
})

/** The first words of a call, as a rule has to begin with them. */
export const beginningOf = ({ args, program }: Invocation, count: number): string =>
  spelled([plainWord(program), ...args].slice(0, count))
