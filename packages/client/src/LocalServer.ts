/** Finds the server of a database on this machine. Verifies that it is that server before it gets the token. */
import * as FileSystem from "@effect/platform/FileSystem"
import * as HttpBody from "@effect/platform/HttpBody"
import * as HttpClient from "@effect/platform/HttpClient"
import type { RequestError } from "@effect/platform/HttpClientError"
import { dialledHost, directUrl, HandshakeAnswer, handshakeText } from "@skein/api/Handshake"
import { ServerFile } from "@skein/api/ServerFile"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { createHash, createHmac, randomBytes, timingSafeEqual } from "node:crypto"
import { join } from "node:path"
import { direct, isRedirect } from "./Direct.ts"
import { isOfProxy } from "./SkeinClient.ts"

/** How long a server may take to prove its identity, in milliseconds. */
const patience = 3_000

/** The path of a server's file. `database` is the canonical name of the database, without a password. */
export const fileOf = (directory: string, database: string): string =>
  join(directory, `${createHash("sha256").update(database).digest("hex").slice(0, 16)}.json`)

const decode = Schema.decodeUnknown(Schema.parseJson(ServerFile))

/** The contents of a server's file; none if it cannot be read. */
export const read = (file: string): Effect.Effect<Option.Option<ServerFile>, never, FileSystem.FileSystem> =>
  Effect.option(
    Effect.flatMap(FileSystem.FileSystem, (fileSystem) => Effect.flatMap(fileSystem.readFileString(file), decode))
  )

const isProof = (answer: string, expected: string): boolean =>
  answer.length === expected.length && timingSafeEqual(Buffer.from(answer), Buffer.from(expected))

/** Nobody at a URL has proved to be the server with a token. */
export class NotProven extends Schema.TaggedError<NotProven>()("NotProven", {
  /**
   * `foreign_host`: a server does not know the URL as its own. `redirected`: the URL leads to another one.
   * `unreachable`: no connection. `other_token`: a server answers, and has another token. `stranger`: anything else.
   */
  reason: Schema.Literal("foreign_host", "other_token", "redirected", "unreachable", "stranger"),
  /** The system's code, such as `ECONNREFUSED`, or the status that a proxy answers with, if there is one. */
  code: Schema.optional(Schema.String)
}) {}

const stranger = new NotProven({ reason: "stranger" })

/** Errors of `fetch` have their cause in the cause. */
const unconnected = ({ cause }: RequestError): NotProven => {
  const inner = cause instanceof Error ? cause.cause : undefined
  const code = inner instanceof Error && "code" in inner && typeof inner.code === "string" ? inner.code : undefined
  return new NotProven({ reason: "unreachable", ...(code === undefined ? {} : { code }) })
}

const isForeignHost = Schema.is(Schema.Struct({ type: Schema.Literal("urn:skein:ForeignHost") }))

/**
 * The version of the server at a URL, if it has this token and the URL is its own. The token itself is not sent. Who
 * listens there instead of that server cannot pass the question on to another one: that would not answer for the URL.
 */
export const prove = (
  { token, url }: Pick<ServerFile, "token" | "url">
): Effect.Effect<string, NotProven, HttpClient.HttpClient> =>
  Effect.gen(function*() {
    const http = direct(yield* HttpClient.HttpClient)
    const dialled = directUrl(url)
    const question = { nonce: randomBytes(32).toString("hex"), host: dialledHost(dialled) }
    const response = yield* http.post(`${dialled}/v1/handshake`, { body: yield* HttpBody.json(question) })
    if (isOfProxy(response)) return yield* new NotProven({ reason: "unreachable", code: `HTTP ${response.status}` })
    const body = yield* response.json
    if (isForeignHost(body)) return yield* new NotProven({ reason: "foreign_host" })
    const { answer, version } = yield* Schema.decodeUnknown(HandshakeAnswer)(body)
    const expected = createHmac("sha256", token).update(handshakeText(question, version)).digest("hex")
    return isProof(answer, expected) ? version : yield* new NotProven({ reason: "other_token" })
  }).pipe(
    Effect.scoped,
    Effect.timeoutFail({ duration: patience, onTimeout: () => new NotProven({ reason: "unreachable" }) }),
    Effect.catchTags({
      RequestError: unconnected,
      // It leads to another address than the one that was asked about.
      ResponseError: ({ response }) => isRedirect(response) ? new NotProven({ reason: "redirected" }) : stranger,
      HttpBodyError: () => stranger,
      ParseError: () => stranger
    })
  )

/** The same, for who does not ask why. */
export const provenVersion = (
  server: Pick<ServerFile, "token" | "url">
): Effect.Effect<Option.Option<string>, never, HttpClient.HttpClient> => Effect.option(prove(server))

/** Whether the server at a URL has this token, and the URL is its own. */
export const isGenuine = (
  server: Pick<ServerFile, "token" | "url">
): Effect.Effect<boolean, never, HttpClient.HttpClient> => Effect.map(provenVersion(server), Option.isSome)

/** The server that a file describes, if it runs and is the one that wrote the file. */
export const find = (
  file: string
): Effect.Effect<Option.Option<ServerFile>, never, FileSystem.FileSystem | HttpClient.HttpClient> =>
  Effect.flatMap(read(file), (found) =>
    Option.isNone(found)
      ? Effect.succeed(found)
      : Effect.map(isGenuine(found.value), (genuine) => Option.filter(found, () => genuine)))
