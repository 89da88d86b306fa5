/** A server in this process, over models that go by a script, and what tests ask it with. */
import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import * as FetchHttpClient from "@effect/platform/FetchHttpClient"
import type * as FileSystem from "@effect/platform/FileSystem"
import type * as HttpClient from "@effect/platform/HttpClient"
import * as SkeinClient from "@skein/client/SkeinClient"
import type { ManyServices } from "@skein/core/Skein"
import { Server, type ServerOptions } from "@skein/server/Server"
import * as SkeinTest from "@skein/testing/SkeinTest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import { connect } from "node:net"

/** The token of the servers of tests. */
export const token = "0123456789abcdef0123456789abcdef"

const usual: ServerOptions = {
  hostname: "127.0.0.1",
  port: 0,
  token: Redacted.make(token),
  version: "0.0.0-test",
  resume: false,
  projectOf: (directory) => Effect.succeed(directory)
}

/** A server over models that go by these scripts. */
export const serving = (
  scripts: SkeinTest.Scripts,
  { server, ...options }: SkeinTest.SkeinTestOptions & { readonly server?: Partial<ServerOptions> } = {}
): Layer.Layer<FileSystem.FileSystem | HttpClient.HttpClient | ManyServices | Server> =>
  Layer.provideMerge(
    Layer.orDie(Server.layer({ ...usual, ...server })),
    Layer.mergeAll(
      SkeinTest.layer(scripts, { asks: "person", ...options }),
      NodeFileSystem.layer,
      FetchHttpClient.layer
    )
  )

/** The typed client of the server. */
export const client = Effect.flatMap(Server, ({ url }) => SkeinClient.make({ url, token: Redacted.make(token) }))

/** A response as it came. */
export interface Answer {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  readonly json: () => Record<string, unknown>
}

/** Sends a request with the token, unless `init` says otherwise. */
export const send = (path: string, init: RequestInit = {}) =>
  Effect.flatMap(Server, ({ url }) =>
    Effect.promise(async (signal): Promise<Answer> => {
      const response = await fetch(`${url}${path}`, {
        signal,
        ...init,
        headers: { authorization: `Bearer ${token}`, ...init.headers }
      })
      const text = await response.text()
      return { status: response.status, headers: response.headers, text, json: () => JSON.parse(text) }
    }))

/** Sends a body of JSON. */
export const post = (path: string, body: unknown, headers: Record<string, string> = {}) =>
  send(path, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: typeof body === "string" ? body : JSON.stringify(body)
  })

/** Writes bytes to a connection of its own, and gives what comes back until the server closes it. */
export const raw = (...pieces: ReadonlyArray<string | Buffer>) =>
  Effect.flatMap(Server, ({ url }) =>
    Effect.async<string>((resume) => {
      const socket = connect(Number(new URL(url).port), "127.0.0.1")
      let text = ""
      socket.setEncoding("utf8")
      socket.on("data", (piece: string) => text += piece)
      socket.on("error", () => undefined)
      socket.on("close", () => resume(Effect.succeed(text)))
      for (const piece of pieces) socket.write(piece)
      return Effect.sync(() => socket.destroy())
    }))
