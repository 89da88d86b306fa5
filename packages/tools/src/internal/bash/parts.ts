/** A command line taken apart. */
import type { Call } from "../programs/readCall.ts"
import type { readLine } from "./readLine.ts"
import type { Argument } from "./words.ts"

/** A program that the line would run. */
export interface Invocation {
  /** As rules name it. */
  readonly program: string
  readonly args: ReadonlyArray<Argument>
  /** How rules see it. */
  readonly pattern: string
  /** Why no wildcard may allow it; `undefined` where one may. */
  readonly risk: string | undefined
  /** How a rule begins that allows it all the same, with a wildcard behind that. */
  readonly beginning?: string
  /** Whether it does nothing but read what is asked for by itself. */
  readonly reads: boolean
  /** What the table of its program says of its arguments. */
  readonly call?: Call<Argument>
}

/** Where a line goes, in order, and whether all else in it is run only where it ends up. */
export interface Moves {
  readonly to: ReadonlyArray<string>
  readonly sure: boolean
}

/** A line taken apart. */
export interface Parts {
  readonly invocations: ReadonlyArray<Invocation>
  /** Settings that no wildcard allows, as they are written. */
  readonly settings: ReadonlyArray<string>
  /** Other ways to write what is run, for rules that forbid it. */
  readonly also: ReadonlyArray<string>
  readonly opened: ReturnType<typeof readLine>["opened"]
  readonly listed: ReturnType<typeof readLine>["listed"]
  readonly tested: ReturnType<typeof readLine>["tested"]
  readonly substitutes: boolean
  /** `undefined` where the line goes where it cannot be followed. */
  readonly moves: Moves | undefined
  readonly unclear: string | undefined
}
