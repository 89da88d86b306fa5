/** Decides how `bash` is handed a line with arguments: beside what a model can say of a call, so that no model can say it. */

/** The key of the arguments in the input of a call of `bash`. */
export const positional = Symbol.for("@skein/core/ShellLine")

/** The arguments of a line. */
export interface Positional {
  /** What the shell knows as `$1`, `$2` and so on: never a part of the line. */
  readonly words: ReadonlyArray<string>
  /** The line with the arguments written out, which permission is asked for. */
  readonly shown: string
  /** Whether `shown` is all that runs. If not, no rule allows the line. */
  readonly known: boolean
}
