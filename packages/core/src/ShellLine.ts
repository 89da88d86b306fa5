/**
 * Decides how `bash` receives a line with arguments: next to the fields that a model can set, so that no model can set
 * them.
 */

/** The key of the arguments in the input of `bash`. */
export const positional = Symbol.for("@skein/core/ShellLine")

/** The arguments of a line. */
export interface Positional {
  /** The values of `$1`, `$2` and so on in the shell; never a part of the line. */
  readonly words: ReadonlyArray<string>
  /** The line with the arguments filled in, for permission. */
  readonly shown: string
  /** Whether `shown` is all that runs. If not, no rule allows the line. */
  readonly known: boolean
}
