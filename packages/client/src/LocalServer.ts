/** Finds the server of a database on this machine. Verifies that it is that server before it gets the token. */
import * as FetchHttpClient from "@effect/platform/FetchHttpClient"
import * as FileSystem from "@effect/platform/FileSystem"
import * as HttpBody from "@effect/platform/HttpBody"
import * as HttpClient from "@effect/platform/HttpClient"
import { ServerFile } from "@skein/api/ServerFile"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { createHash, createHmac, randomBytes, timingSafeEqual } from "node:crypto"
import { join } from "node:path"

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

const Answer = Schema.Struct({ answer: Schema.String })

const isProof = (answer: string, expected: string): boolean =>
  answer.length === expected.length && timingSafeEqual(Buffer.from(answer), Buffer.from(expected))

/** Whether the server at a URL has this token. The token itself is not sent. */
export const isGenuine = (
  { token, url }: Pick<ServerFile, "token" | "url">
): Effect.Effect<boolean, never, HttpClient.HttpClient> =>
  Effect.gen(function*() {
    const http = yield* HttpClient.HttpClient
    const nonce = randomBytes(32).toString("hex")
    const response = yield* http.post(`${url}/v1/handshake`, { body: yield* HttpBody.json({ nonce }) })
    const { answer } = yield* Schema.decodeUnknown(Answer)(yield* response.json)
    return isProof(answer, createHmac("sha256", token).update(nonce).digest("hex"))
  }).pipe(
    // Do not follow redirects: another server could pass on the nonce and return the right server's answer as its own.
    Effect.provideService(FetchHttpClient.RequestInit, { redirect: "error" }),
    Effect.scoped,
    Effect.timeout(patience),
    Effect.orElseSucceed(() => false)
  )

/** The server that a file describes, if it runs and is the one that wrote the file. */
export const find = (
  file: string
): Effect.Effect<Option.Option<ServerFile>, never, FileSystem.FileSystem | HttpClient.HttpClient> =>
  Effect.flatMap(read(file), (found) =>
    Option.isNone(found)
      ? Effect.succeed(found)
      : Effect.map(isGenuine(found.value), (genuine) => Option.filter(found, () => genuine)))
