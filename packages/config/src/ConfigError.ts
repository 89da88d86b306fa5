/** Decides how mistakes in config are reported: what is wrong, in which file and line, and how to fix it. */
import type * as Arr from "effect/Array"
import * as Schema from "effect/Schema"

/** Something in a file of config that is wrong, or that does not count. */
export const ConfigIssue = Schema.Struct({
  /** The file, or another origin, such as the name of a flag. */
  file: Schema.String,
  /** Counted from 1; absent where it is about the file as a whole. */
  line: Schema.optional(Schema.Number),
  /** Counted from 1. */
  column: Schema.optional(Schema.Number),
  /** The path of the key, such as `agent.review.steps`. */
  key: Schema.optional(Schema.String),
  message: Schema.String,
  /**
   * What kind of remark this is, where it is no mistake: a `note` on a file of another tool, a file of another tool that is
   * `left_out`, a `restriction` in such a file that could not be read, or a value that waits for `trust`.
   */
  kind: Schema.optional(Schema.Literal("note", "left_out", "restriction", "trust"))
})
/** The type of an issue. */
export interface ConfigIssue extends Schema.Schema.Type<typeof ConfigIssue> {}

/** Writes an issue as `file:line:column: message`. */
export const formatIssue = ({ column, file, line, message }: ConfigIssue): string =>
  `${[file, line, column].filter((part) => part !== undefined).join(":")}: ${message}`

/** The config cannot be used; the message holds all issues, one a line. */
export class ConfigError extends Schema.TaggedError<ConfigError>()("ConfigError", {
  issues: Schema.NonEmptyArray(ConfigIssue),
  message: Schema.String
}) {
  /** An error of these issues. */
  static readonly of = (issues: Arr.NonEmptyReadonlyArray<ConfigIssue>): ConfigError => {
    const lines = issues.map(formatIssue).join("\n")
    return new ConfigError({
      issues,
      message: issues.length === 1 ? lines : `The config has ${issues.length} mistakes:\n${lines}`
    })
  }
}
