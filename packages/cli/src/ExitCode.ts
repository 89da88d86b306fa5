/** Decides what the program's exit code means. */
import * as Schema from "effect/Schema"

/** What each exit code means. A signal's code is its number plus 128. */
export const ExitCode = {
  /** The agent answered, or the command did its work. A call that a rule or a hook denied does not change this. */
  done: 0,
  /** A model, a session or the command itself failed, or the answer was empty. */
  failed: 1,
  /** The command line, the config, the database or the address of a server cannot be used. */
  usage: 2,
  /** A permission that nobody could grant, such as a question without a terminal, or that you refused; a prompt or a turn that a hook ended. */
  denied: 3,
  /** A limit of steps, a budget or the time ran out. */
  limit: 4,
  /** The reader of the output has closed it. */
  brokenPipe: 141
} as const

/** The number of each signal that ends the program. */
export const signals = { SIGHUP: 1, SIGINT: 2, SIGTERM: 15 } as const

/** A signal that ends the program. */
export type SignalName = keyof typeof signals

/** The exit code of a program that a signal ended. */
export const exitCodeOf = (signal: SignalName): number => 128 + signals[signal]

/** The command line, or something that it names, is not valid. The message says how to fix it. */
export class UsageError extends Schema.TaggedError<UsageError>()("UsageError", { message: Schema.String }) {}
