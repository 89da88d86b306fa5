/** Decides how much is said of what does not count: one line with counts, and aloud only what somebody must know. */
import type { ConfigIssue } from "./ConfigError.ts"

/** What is said, and what is not said. */
export interface Summary {
  /** What is said in full: restrictions that could not be read, and what is wrong in files of Skein. */
  readonly loud: ReadonlyArray<ConfigIssue>
  /** The rest in one line, by kind; undefined where there is nothing else. */
  readonly line: string | undefined
}

const kinds = [
  ["note", "note on files of other tools", "notes on files of other tools"],
  ["left_out", "of their files left out", "of their files left out"],
  ["trust", "value waits for trust (`skein trust`)", "values wait for trust (`skein trust`)"]
] as const

/**
 * Sums up remarks on config. `isBrief` is for those who came for something else: what is wrong in files of Skein and takes
 * nothing away is counted as well.
 */
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
