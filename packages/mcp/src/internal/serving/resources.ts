/** Gives clients the transcripts of sessions to read. */
import { ProtocolError, ProtocolErrorCode, type Resource } from "@modelcontextprotocol/server"
import { Bus } from "@skein/core/Bus"
import { findSession } from "@skein/core/SessionLookup"
import { eachMessagePage, SessionStorage } from "@skein/core/SessionStorage"
import type { ManyServices } from "@skein/core/Skein"
import type { StorageError } from "@skein/core/StorageError"
import type { Event } from "@skein/domain/Event"
import { SessionID } from "@skein/domain/Id"
import type { MessageWithParts, Part } from "@skein/domain/Part"
import type { SessionInfo } from "@skein/domain/SessionInfo"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Queue from "effect/Queue"
import * as Schema from "effect/Schema"
import type { McpOpened } from "../../McpService.ts"
import type { ServingHost } from "../../ServingHost.ts"
import { cleanLine, cleanText } from "../content.ts"
import type { Owner } from "./Owner.ts"

const scheme = "skein://sessions/"

/** The longest transcript, in characters: of a longer one, the end is given. */
const longest = 400_000

/** The longest output of a call in it, in characters. */
const longestOutput = 2_000

/** The template of all transcripts. */
export const template = {
  uriTemplate: `${scheme}{id}`,
  name: "transcript",
  title: "Transcript of a session",
  description: "What was said and done in a session or a task",
  mimeType: "text/markdown"
}

const resourceOf = ({ agent, id, title }: SessionInfo): Resource => ({
  uri: `${scheme}${id}`,
  name: id,
  title: cleanLine(title, 100),
  description: `Transcript of the agent ${agent}`,
  mimeType: "text/markdown"
})

/** How many resources a page has. */
const pageSize = 50

/** Where the next page begins: at so many sessions of the connection, or after a session of the project. */
const Cursor = Schema.parseJson(
  Schema.Union(Schema.Struct({ own: Schema.Number }), Schema.Struct({ updated: Schema.Number, id: SessionID }))
)
type Cursor = typeof Cursor.Type

const written = (cursor: Cursor): string => Buffer.from(JSON.stringify(cursor)).toString("base64url")

const readCursor = (text: string | undefined): Effect.Effect<Cursor> =>
  text === undefined ? Effect.succeed({ own: 0 }) : Effect.catchAll(
    Schema.decode(Cursor)(Buffer.from(text, "base64url").toString()),
    () =>
      Effect.die(
        new ProtocolError(ProtocolErrorCode.InvalidParams, "The cursor is not one of this list. List from the start.")
      )
  )

/** The resources that a connection lists. */
export interface Resources {
  /** A page: the sessions of this connection, roots and everything below them, then those of its project, newest first. */
  readonly list: (
    cursor: string | undefined
  ) => Effect.Effect<
    { readonly resources: Array<Resource>; readonly nextCursor?: string },
    StorageError,
    ManyServices
  >
  readonly changed: McpOpened["resourcesChanged"]
}

/** Lists them, and follows what happens to the sessions that were listed, until the scope closes. */
export const makeResources = Effect.fnUntraced(function*(host: ServingHost, owner: Owner) {
  const bus = yield* Bus
  /** The titles that the client knows, and the project whose sessions it knows. */
  const titles = new Map<SessionID, string>()
  let project: string | undefined
  const changes = yield* Queue.sliding<void>(1)

  const isChange = (event: Event): boolean => {
    switch (event.type) {
      case "session.created": {
        const { parentID, projectID } = event.properties.info
        const isOwn = owner.roots().some(({ info }) => info.id === event.rootID)
        return isOwn || (parentID === undefined && projectID === project)
      }
      case "session.updated": {
        const { id, title } = event.properties.info
        const before = titles.get(id)
        if (before !== undefined) titles.set(id, title)
        return before !== undefined && before !== title
      }
      case "session.deleted":
        return titles.delete(event.sessionID)
      default:
        return false
    }
  }
  yield* bus.listen({ all: true, deltas: false }, (event) => {
    if (isChange(event)) changes.unsafeOffer(undefined)
  })

  /** The sessions of the project after one; none where the client may not work there, or the place is unknown. */
  const ofProject = Effect.fnUntraced(
    function*(after: { readonly updated: number; readonly id: SessionID } | undefined) {
      const storage = yield* SessionStorage
      if (owner.directory === undefined) return []
      const place = yield* Effect.option(host.place(owner.directory))
      if (Option.isNone(place)) return []
      project = place.value.projectID
      const filter = { projectID: project, roots: true, limit: pageSize }
      return (yield* storage.sessions(after === undefined ? filter : { ...filter, after })).rows
    }
  )

  const list = Effect.fnUntraced(function*(text: string | undefined) {
    const storage = yield* SessionStorage
    const cursor = yield* readCursor(text)
    const roots = owner.roots()
    const isOwn = (info: SessionInfo) => roots.some((root) => root.info.id === info.rootID)
    const trees = "own" in cursor
      ? yield* Effect.forEach(roots, ({ info }) => storage.sessions({ rootID: info.id }))
      : []
    const own = trees.flatMap(({ rows }) => rows).toSorted((a, b) => (a.id < b.id ? -1 : 1))
    const begin = "own" in cursor ? cursor.own : 0
    const isMore = own.length > begin + pageSize
    const others = isMore ? [] : yield* ofProject("own" in cursor ? undefined : cursor)
    const last = others.length < pageSize ? undefined : others.at(-1)
    const page = [...own.slice(begin, begin + pageSize), ...others.filter((info) => !isOwn(info))]
    for (const { id, title } of page) titles.set(id, title)
    const next = isMore ? { own: begin + pageSize } : last && { updated: last.time.updated, id: last.id }
    return { resources: page.map(resourceOf), ...(next === undefined ? {} : { nextCursor: written(next) }) }
  })

  return {
    list,
    changed: Effect.zipRight(Effect.sleep("1 second"), Queue.take(changes))
  } satisfies Resources
})

const cutOutput = (text: string): string =>
  text.length > longestOutput
    ? `${text.slice(0, longestOutput)}\n[${text.length - longestOutput} more characters]`
    : text

const partText = (part: Part): string => {
  if (part.type === "text") return part.text
  if (part.type !== "tool") return ""
  const { state, tool } = part
  switch (state.status) {
    case "completed":
      return `**${tool}** ${state.title}\n\n~~~~\n${cutOutput(state.output)}\n~~~~`
    case "error":
      return `**${tool}** failed\n\n~~~~\n${cutOutput(state.error.message)}\n~~~~`
    default:
      return `**${tool}** (${state.status})`
  }
}

const messageText = ({ info: { role }, parts }: MessageWithParts): string =>
  [`## ${role}`, ...parts.map(partText).filter((text) => text !== "")].join("\n\n")

/** The end of a conversation, read a page at a time. */
const transcriptOf = ({ agent, directory, id, title }: SessionInfo) =>
  Effect.gen(function*() {
    let text = ""
    let left = 0
    yield* eachMessagePage(id, ({ rows }) =>
      Effect.sync(() => {
        if (rows.length === 0) return
        const all = `${text}${text === "" ? "" : "\n\n"}${cleanText(rows.map(messageText).join("\n\n"))}`
        text = all.slice(-longest)
        left += all.length - text.length
      }))
    const head = `# ${cleanLine(title, 200)}\n\nAgent ${agent}, in ${directory}`
    return left > 0 ? `${head}\n\n[${left} characters before this are left out.]\n\n${text}` : `${head}\n\n${text}`
  })

const notFound = (uri: string) =>
  Effect.die(
    new ProtocolError(ProtocolErrorCode.InvalidParams, `Resource not found: ${cleanLine(uri, 200)}`, { uri })
  )

/** Reads a transcript, of this connection or of another session in a place where the client may work. */
export const readResource = Effect.fnUntraced(function*(host: ServingHost, owner: Owner, uri: string) {
  if (!uri.startsWith(scheme)) return yield* notFound(uri)
  const info = yield* Effect.catchTag(findSession(uri.slice(scheme.length)), "SessionNotFound", () => notFound(uri))
  const isOwn = owner.roots().some((root) => root.info.id === info.rootID)
  if (!isOwn) yield* Effect.catchTag(host.place(info.directory), "PlaceRefused", () => notFound(uri))
  return { contents: [{ uri, mimeType: "text/markdown", text: yield* transcriptOf(info) }] }
})
