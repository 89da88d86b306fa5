/** Reads `.mcp.json`, the list of MCP servers that Claude Code and others share. */
import * as Effect from "effect/Effect"
import type { ConfigIssue } from "../ConfigError.ts"
import { issueIn, onlyIssues } from "./configContent.ts"
import { settleContent } from "./configFile.ts"
import { adaptServers } from "./foreignServers.ts"
import { asNote, parseForeign } from "./foreignSource.ts"
import type { Fault, LocatedEntry, LocatedObject } from "./located.ts"
import { type ConfigSource, substitute } from "./substitute.ts"

const isServer = ({ value }: LocatedEntry): boolean =>
  value.kind === "object" && value.entries.some(({ key }) => key === "command" || key === "url")

/** Where the servers are in such a file: under a key of Claude Code's or VS Code's, or at its top. */
const serversIn = (tree: LocatedObject): LocatedEntry | undefined =>
  tree.entries.findLast(({ key }) => key === "mcpServers")
    ?? tree.entries.findLast(({ key }) => key === "servers")
    ?? (tree.entries.length > 0 && tree.entries.every(isServer)
      ? { key: "mcpServers", at: tree.at, value: tree }
      : undefined)

const onlyNotes = (path: string, warnings: ReadonlyArray<ConfigIssue>) => ({
  ...onlyIssues(path, []),
  warnings: warnings.map((issue): ConfigIssue => ({ ...issue, kind: "note" }))
})

/** Reads such a file; what cannot be used is noted. */
export const readMcpFile = Effect.fnUntraced(function*(source: ConfigSource) {
  const { path } = source
  const parsed = yield* parseForeign(path)
  // There are no rules in such a file, whatever words are in it.
  if ("content" in parsed) return onlyNotes(path, parsed.content.warnings)
  const notes: Array<Fault> = [...parsed.notes]
  const found = serversIn(parsed.tree)
  if (found === undefined) {
    notes.push({ ...parsed.tree, message: "there are no servers in it; put them under mcpServers, each with a name" })
  }
  const entries = found === undefined
    ? []
    : adaptServers(found, "claude", ({ at, key }, message) => notes.push({ at, key, message: `${key}: ${message}` }))
  const filled = yield* substitute({ ...parsed.tree, entries }, source)
  const content = settleContent(filled, path)
  return {
    ...content,
    issues: [],
    warnings: [...notes.map(issueIn(path)), ...content.issues, ...content.warnings].map(asNote)
  }
})
