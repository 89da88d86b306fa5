/**
 * Reports mistakes in config: what is wrong, in which file and line, and how to fix it. Of what is ignored, only
 * important remarks are shown in full.
 */
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
   * unreadable `restriction` in such a file, a value that needs `trust`, or a `broken` file, whose agent is left out.
   */
  kind: Schema.optional(Schema.Literal("note", "left_out", "restriction", "trust", "broken"))
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

/** The report. */
export interface Summary {
  /** Remarks in full: unreadable restrictions, agents that are left out, and faults in Skein's files. */
  readonly loud: ReadonlyArray<ConfigIssue>
  /** The other remarks in one line, by kind; undefined if there are none. */
  readonly line: string | undefined
}

const kinds = [
  ["note", "note on files of other tools", "notes on files of other tools"],
  ["left_out", "of their files left out", "of their files left out"],
  ["trust", "value waits for trust (`skein trust`)", "values wait for trust (`skein trust`)"]
] as const

/** Summarises remarks on config. `isBrief` also counts, instead of showing, harmless faults in Skein's files. */
export const summarise = (issues: ReadonlyArray<ConfigIssue>, isBrief = false): Summary => {
  const others = isBrief ? issues.filter(({ kind }) => kind === undefined).length : 0
  const counts = [
    ...(others === 0
      ? []
      : [others === 1 ? "1 value of the config does not count" : `${others} values of the config do not count`]),
    ...kinds.flatMap(([kind, one, many]) => {
      const count = issues.filter((issue) => issue.kind === kind).length
      return count === 0 ? [] : [`${count} ${count === 1 ? one : many}`]
    })
  ]
  return {
    loud: issues.filter(({ kind }) => kind === "restriction" || kind === "broken" || (kind === undefined && !isBrief)),
    line: counts.length === 0 ? undefined : `${counts.join(", ")}: \`skein config --notes\``
  }
}
