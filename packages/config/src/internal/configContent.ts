/** The content of a config file, and its faults as issues. */
import type { ConfigIssue } from "../ConfigError.ts"
import type { Fault } from "./located.ts"
import { record, type SourcedRecord } from "./sourced.ts"

/** The content of a file. */
export interface ConfigContent {
  readonly tree: SourcedRecord
  readonly issues: ReadonlyArray<ConfigIssue>
  readonly warnings: ReadonlyArray<ConfigIssue>
}

/** Content that consists only of issues. */
export const onlyIssues = (file: string, issues: ReadonlyArray<ConfigIssue>): ConfigContent => ({
  tree: record([], { name: file }),
  issues,
  warnings: []
})

/** A fault in a file as an issue. */
export const issueIn = (file: string) => ({ at, key, message }: Fault): ConfigIssue => ({
  file,
  line: at.line,
  column: at.column,
  ...(key === undefined || key === "" ? {} : { key }),
  message
})
