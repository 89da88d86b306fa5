/** What a file of config says, and how it is told what is wrong in it. */
import type { ConfigIssue } from "../ConfigError.ts"
import type { Fault } from "./located.ts"
import { record, type SourcedRecord } from "./sourced.ts"

/** What a file says. */
export interface ConfigContent {
  readonly tree: SourcedRecord
  readonly issues: ReadonlyArray<ConfigIssue>
  readonly warnings: ReadonlyArray<ConfigIssue>
}

/** Content that is nothing but what is wrong. */
export const onlyIssues = (file: string, issues: ReadonlyArray<ConfigIssue>): ConfigContent => ({
  tree: record([], { name: file }),
  issues,
  warnings: []
})

/** A fault of a file as an issue. */
export const issueIn = (file: string) => ({ at, key, message }: Fault): ConfigIssue => ({
  file,
  line: at.line,
  column: at.column,
  ...(key === undefined || key === "" ? {} : { key }),
  message
})
