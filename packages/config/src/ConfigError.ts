/** Reports mistakes in config: what is wrong, in which file and line, and how to fix it. */
import type * as Arr from "effect/Array"
import * as Schema from "effect/Schema"

/** A fault in a config file, or an ignored part of it. */
export const ConfigIssue = Schema.Struct({
  /** The file, or another origin, such as the name of a flag. */
  file: Schema.String,
  /** Counted from 1; absent if it concerns the whole file. */
  line: Schema.optional(Schema.Number),
  /** Counted from 1. */
  column: Schema.optional(Schema.Number),
  /** The path of the key, such as `agent.review.steps`. */
  key: Schema.optional(Schema.String),
  message: Schema.String,
  /**
   * The kind of a remark that is not a mistake: a `note` on a file of another tool, such a file that is `left_out`, an
   * unreadable `restriction` in such a file, or a value that needs `trust`.
   */
  kind: Schema.optional(Schema.Literal("note", "left_out", "restriction", "trust"))
})
/** The type of an issue. */
export interface ConfigIssue extends Schema.Schema.Type<typeof ConfigIssue> {}

/** Formats an issue as `file:line:column: message`. */
export const formatIssue = ({ column, file, line, message }: ConfigIssue): string =>
  `${[file, line, column].filter((part) => part !== undefined).join(":")}: ${message}`

/** The config cannot be used; the message lists all issues, one per line. */
export class ConfigError extends Schema.TaggedError<ConfigError>()("ConfigError", {
  issues: Schema.NonEmptyArray(ConfigIssue),
  message: Schema.String
}) {
  /** The error of these issues. */
  static readonly of = (issues: Arr.NonEmptyReadonlyArray<ConfigIssue>): ConfigError => {
    const lines = issues.map(formatIssue).join("\n")
    return new ConfigError({
      issues,
      message: issues.length === 1 ? lines : `The config has ${issues.length} mistakes:\n${lines}`
    })
  }
}
