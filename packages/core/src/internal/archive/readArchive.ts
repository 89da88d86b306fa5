/** Reads an archive, and validates all of it before anything is stored. */
import { Archive, format, version } from "@skein/domain/Archive"
import type { SessionInfo } from "@skein/domain/SessionInfo"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as ParseResult from "effect/ParseResult"
import * as Schema from "effect/Schema"
import { ArchiveInvalid } from "../../ArchiveError.ts"
import { deepest, isTextNested } from "../../Nesting.ts"

const decode = Schema.decodeUnknownEither(Archive, { onExcessProperty: "preserve" })

/** A row that is nested as deeply as possible, below the archive, its sessions, their messages and parts. */
const most = deepest + 6

const longest = 200
const cut = (text: string) => (text.length > longest ? `${text.slice(0, longest)}…` : text)

const pathOf = (keys: ReadonlyArray<PropertyKey>): string =>
  keys.reduce<string>((path, key) => path + (typeof key === "number" ? `[${key}]` : `.${String(key)}`), "$")

const invalid = (keys: ReadonlyArray<PropertyKey>, why: string) => {
  const path = pathOf(keys)
  return new ArchiveInvalid({
    reason: "invalid",
    path,
    message: `The archive cannot be taken in: at ${path}, ${cut(why)}. Nothing was stored. Export the tree again.`
  })
}

const parse = (text: string) =>
  Effect.try({
    try: () => JSON.parse(text) as unknown,
    catch: (cause) =>
      new ArchiveInvalid({
        reason: "not_json",
        message: text.trim() === ""
          ? "The archive is empty. Write one with `skein sessions export ID --output FILE`."
          : `The archive is not JSON, or was cut off (${
            cut(String(cause).replaceAll(/\s+/g, " "))
          }). Nothing was stored. Export the tree again.`
      })
  })

const headOf = (value: unknown): { readonly format?: unknown; readonly version?: unknown } =>
  typeof value === "object" && value !== null ? value : {}

/** The format name comes first: a newer version may differ in everything else. */
const checkVersion = (value: unknown) => {
  const { format: found, version: written } = headOf(value)
  if (found !== format) {
    return new ArchiveInvalid({
      reason: "foreign",
      path: "$.format",
      message: `This is no archive of Skein: its "format" is not "${format}". `
        + "Write one with `skein sessions export ID --output FILE`."
    })
  }
  return typeof written === "number" && written > version
    ? new ArchiveInvalid({
      reason: "newer",
      path: "$.version",
      message: `The archive has version ${written}, and this version of Skein reads archives up to ${version}. `
        + "Nothing was stored. Use a newer Skein."
    })
    : Effect.void
}

/** Finds the first row that belongs to no row of the archive, or exists twice. */
const misplaced = (archive: Archive): ArchiveInvalid | undefined => {
  const known = new Map<string, SessionInfo>()
  for (const [i, { inbox, info, messages }] of archive.sessions.entries()) {
    const at = ["sessions", i]
    const above = info.parentID === undefined ? undefined : known.get(info.parentID)
    if (i === 0 && info.id !== archive.root) return invalid([...at, "info", "id"], "the first session is not the root")
    if (i === 0 ? info.parentID !== undefined : above === undefined) {
      return invalid(
        [...at, "info", "parentID"],
        i === 0 ? "the root has a parent" : "no session before this is its parent"
      )
    }
    if (info.rootID !== archive.root) return invalid([...at, "info", "rootID"], `it is not ${archive.root}`)
    const depth = above === undefined ? 0 : above.depth + 1
    if (info.depth !== depth) return invalid([...at, "info", "depth"], `it is not ${depth}, one more than its parent's`)
    if (known.has(info.id)) return invalid([...at, "info", "id"], `${info.id} is there twice`)
    known.set(info.id, info)
    let last = ""
    const parts = new Set<string>()
    for (const [m, message] of messages.entries()) {
      const here = [...at, "messages", m]
      if (message.info.sessionID !== info.id) return invalid([...here, "info", "sessionID"], `it is not ${info.id}`)
      if (message.info.id <= last) return invalid([...here, "info", "id"], "ids have to ascend")
      last = message.info.id
      let before = ""
      for (const [p, part] of message.parts.entries()) {
        const where = [...here, "parts", p]
        if (part.sessionID !== info.id) return invalid([...where, "sessionID"], `it is not ${info.id}`)
        if (part.messageID !== message.info.id) return invalid([...where, "messageID"], `it is not ${message.info.id}`)
        if (part.id <= before || parts.has(part.id)) {
          return invalid([...where, "id"], "ids have to ascend, each there once")
        }
        before = part.id
        parts.add(part.id)
      }
    }
    for (const [r, row] of inbox.entries()) {
      if (row.sessionID !== info.id) return invalid([...at, "inbox", r, "sessionID"], `it is not ${info.id}`)
    }
  }
  const runs = new Set<string>()
  for (const [i, run] of archive.runs.entries()) {
    const at = ["runs", i]
    if (runs.has(run.id)) return invalid([...at, "id"], `${run.id} is there twice`)
    runs.add(run.id)
    if (run.rootID !== archive.root) return invalid([...at, "rootID"], `it is not ${archive.root}`)
    for (const key of ["taskID", "parentID"] as const) {
      if (!known.has(run[key])) return invalid([...at, key], `the session ${run[key]} is not in the archive`)
    }
  }
  return undefined
}

/** Reads the text of an archive. */
export const readArchive = Effect.fnUntraced(function*(text: string) {
  if (isTextNested(text, most)) return yield* invalid([], `it is nested more than ${most} levels deep`)
  const value = yield* parse(text)
  yield* checkVersion(value)
  const decoded = decode(value)
  if (Either.isLeft(decoded)) {
    const [issue] = ParseResult.ArrayFormatter.formatErrorSync(decoded.left)
    return yield* invalid(issue?.path ?? [], issue?.message ?? decoded.left.message)
  }
  const wrong = misplaced(decoded.right)
  return wrong === undefined ? decoded.right : yield* wrong
})
