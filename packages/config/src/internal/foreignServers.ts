/** Decides what the MCP servers of other tools' files mean to Skein: those of Claude Code, OpenCode and VS Code. */
import * as Effect from "effect/Effect"
import type { ConfigIssue } from "../ConfigError.ts"
import { issueIn, onlyIssues } from "./configContent.ts"
import { settleContent } from "./configFile.ts"
import { actionOf, asNote, entry, type Foreign, isNothing, parseForeign, text } from "./foreign.ts"
import { type Fault, type Located, type LocatedEntry, type LocatedObject, plain } from "./located.ts"
import { type ConfigSource, substitute } from "./substitute.ts"

type Note = (at: Pick<LocatedEntry, "at" | "key">, message: string) => void

const known = new Set([
  "args",
  "command",
  "disabled",
  "enabled",
  "env",
  "environment",
  "headers",
  "timeout",
  "type",
  "url"
])

const valueOf = (server: LocatedObject, key: string): Located | undefined =>
  server.entries.findLast((each) => each.key === key && !isNothing(each.value))?.value

const words = (value: Located | undefined): ReadonlyArray<Located> =>
  value === undefined ?
    [] :
    (value.kind === "array" ? value.items : [value]).map((item) =>
      item.kind === "string" ? item : text(String(plain(item)), item.at)
    )

/** The program with its arguments. OpenCode has a list; who writes a text there means its words. */
const commandOf = (server: LocatedObject, from: Foreign): Located | undefined => {
  const command = valueOf(server, "command")
  if (command === undefined) return undefined
  const isLine = command.kind === "string" && from === "opencode"
  const program = isLine
    ? command.value.trim().split(/\s+/).map((word) => text(word, command.at))
    : words(command)
  return { kind: "array", at: command.at, items: [...program, ...words(valueOf(server, "args"))] }
}

/** Texts by name; numbers and truth values are written as texts. */
const textsOf = (value: Located | undefined): Located | undefined =>
  value?.kind !== "object" ? undefined : {
    ...value,
    entries: value.entries.flatMap((each) =>
      each.value.kind === "object" || each.value.kind === "array" || each.value.kind === "null"
        ? []
        : [
          entry(each.key, each.at, each.value.kind === "string" ? each.value : text(String(plain(each.value)), each.at))
        ]
    )
  }

/** Whether a server is off, or may be. */
const isOff = (server: LocatedObject): boolean =>
  [["enabled", "allow"], ["disabled", "deny"]].some(([key = "", action]) => {
    const said = valueOf(server, key)
    return said !== undefined && actionOf(said) !== action
  })

/** One server as config has it; undefined where it cannot be used. */
const adaptServer = (each: LocatedEntry, from: Foreign, path: string, note: Note): LocatedEntry | undefined => {
  const { at, key, value } = each
  const say = (place: Pick<LocatedEntry, "at">, message: string) => note({ at: place.at, key: path }, message)
  if (value.kind !== "object") {
    say(each, "this is no server, and is left out")
    return undefined
  }
  const command = commandOf(value, from)
  const url = valueOf(value, "url")
  if (!isOff(value) && command === undefined && url?.kind !== "string") {
    say(each, "this server has neither a command nor a URL, and is left out")
    return undefined
  }
  if (url?.kind === "string" && command === undefined && !/^https?:\/\/|^\$\{|^\{env:/.test(url.value)) {
    say(each, "this server has no http(s) URL, and is left out")
    return undefined
  }
  for (const other of value.entries) {
    if (!known.has(other.key) && !isNothing(other.value)) say(other, `Skein ignores ${other.key}`)
  }
  const env = textsOf(valueOf(value, "env") ?? valueOf(value, "environment"))
  const headers = textsOf(valueOf(value, "headers"))
  const timeout = valueOf(value, "timeout")
  const isSse = plain(valueOf(value, "type") ?? text("", at)) === "sse"
  const put = (name: string, found: Located | undefined) => found === undefined ? [] : [entry(name, at, found)]
  return entry(key, at, {
    kind: "object",
    at: value.at,
    entries: [
      ...put("command", command),
      ...put("env", command === undefined ? undefined : env),
      ...(command === undefined
        ? [...put("url", url), ...put("headers", headers), ...(isSse ? put("type", text("sse", at)) : [])]
        : []),
      ...(isOff(value) ? put("enabled", { kind: "boolean", at, value: false }) : []),
      // OpenCode means how long it waits for the tools; Claude Code, how long a call may take.
      ...(timeout?.kind === "number" && Number.isInteger(timeout.value) && Number(timeout.value) > 0
        ? put(from === "opencode" ? "startup_timeout" : "timeout", timeout)
        : [])
    ]
  })
}

const isGroup = ({ key, value }: LocatedEntry): boolean =>
  (key === "servers" || key === "timeout")
  && !(value.kind === "object" && value.entries.some((each) => each.key === "type" && each.value.kind === "string"))

/** The servers of an object that has them by their names, under the key that Skein has for them. */
export const adaptServers = (
  { at, key, value }: LocatedEntry,
  from: Foreign,
  note: Note
): ReadonlyArray<LocatedEntry> => {
  if (isNothing(value)) return []
  if (value.kind !== "object") {
    note({ at, key }, "this must be an object with a key for each server")
    return []
  }
  // Since version 2, OpenCode has servers under `servers`, beside a `timeout` for all; older ones may stand there as well.
  const entries = value.entries.flatMap((each): ReadonlyArray<LocatedEntry> => {
    const path = `${key}.${each.key}`
    if (from === "opencode" && isGroup(each)) {
      if (each.key === "servers" && each.value.kind === "object") {
        return each.value.entries.flatMap((server) => adaptServer(server, from, `${path}.${server.key}`, note) ?? [])
      }
      note({ at: each.at, key: path }, `Skein ignores ${each.key}`)
      return []
    }
    return [adaptServer(each, from, path, note) ?? []].flat()
  })
  return entries.length === 0 ? [] : [entry("mcp", at, { kind: "object", at, entries })]
}

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
