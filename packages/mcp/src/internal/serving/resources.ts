/** Gives clients the transcripts of sessions to read. */
import { ProtocolError, ProtocolErrorCode, type Resource } from "@modelcontextprotocol/server"
import { findSession } from "@skein/core/SessionLookup"
import { SessionStorage } from "@skein/core/SessionStorage"
import type { MessageWithParts, Part } from "@skein/domain/Part"
import type { SessionInfo } from "@skein/domain/SessionInfo"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { ServingHost } from "../../ServingHost.ts"
import { cleanLine, cleanText } from "../cleanText.ts"
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

/** How many sessions of the project are listed beside those of the connection. */
const listed = 50

/** The latest sessions of the project that the client works in; none where it may not work, or that is unknown. */
const projectSessions = Effect.fnUntraced(function*(host: ServingHost, { directory }: Owner) {
  const storage = yield* SessionStorage
  if (directory === undefined) return []
  const place = yield* Effect.option(host.place(directory))
  if (Option.isNone(place)) return []
  const { rows } = yield* storage.sessions({ projectID: place.value.projectID, roots: true, limit: listed })
  return rows
})

/** The sessions of this connection, roots and everything below them, and the latest ones of its project. */
export const listResources = Effect.fnUntraced(function*(host: ServingHost, owner: Owner) {
  const storage = yield* SessionStorage
  const trees = yield* Effect.forEach(owner.roots(), ({ info }) => storage.sessions({ rootID: info.id }))
  const all = [...trees.flatMap(({ rows }) => rows), ...yield* projectSessions(host, owner)]
  return [...new Map(all.map((info) => [info.id, resourceOf(info)])).values()]
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

const transcriptOf = ({ agent, directory, title }: SessionInfo, messages: ReadonlyArray<MessageWithParts>): string => {
  const head = `# ${cleanLine(title, 200)}\n\nAgent ${agent}, in ${directory}`
  const text = cleanText(messages.map(messageText).join("\n\n"))
  return text.length > longest
    ? `${head}\n\n[${text.length - longest} characters before this are left out.]\n\n${text.slice(-longest)}`
    : `${head}\n\n${text}`
}

const notFound = (uri: string) =>
  Effect.die(
    new ProtocolError(ProtocolErrorCode.InvalidParams, `Resource not found: ${cleanLine(uri, 200)}`, { uri })
  )

/** Reads a transcript, of this connection or of another session in a place where the client may work. */
export const readResource = Effect.fnUntraced(function*(host: ServingHost, owner: Owner, uri: string) {
  const storage = yield* SessionStorage
  if (!uri.startsWith(scheme)) return yield* notFound(uri)
  const info = yield* Effect.catchTag(findSession(uri.slice(scheme.length)), "SessionNotFound", () => notFound(uri))
  const isOwn = owner.roots().some((root) => root.info.id === info.rootID)
  if (!isOwn) yield* Effect.catchTag(host.place(info.directory), "PlaceRefused", () => notFound(uri))
  const { rows } = yield* storage.messages(info.id)
  return { contents: [{ uri, mimeType: "text/markdown", text: transcriptOf(info, rows) }] }
})
