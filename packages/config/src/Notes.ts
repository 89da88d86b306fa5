/** Decides how to report ignored config: one line with counts, and only important remarks in full. */
import type { ConfigIssue } from "./ConfigError.ts"

/** The report. */
export interface Summary {
  /** Remarks in full: unreadable restrictions, and faults in Skein's files. */
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
    loud: issues.filter(({ kind }) => kind === "restriction" || (kind === undefined && !isBrief)),
    line: counts.length === 0 ? undefined : `${counts.join(", ")}: \`skein config --notes\``
  }
}
