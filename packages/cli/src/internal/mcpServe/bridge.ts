/** Passes the messages of a client of MCP to the server that holds the database, and its answers back. */
import { directUrl } from "@skein/api/Handshake"
import type { ServerTarget } from "@skein/backend/ServerOptions"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import type * as Scope from "effect/Scope"
import * as http from "node:http"
import * as https from "node:https"
import type { Duplex } from "node:stream"
import { ExitCode, UsageError } from "../../ExitCode.ts"
import { Stdio } from "../../Stdio.ts"
import { errorLine } from "../explain.ts"

const failed = (url: string, why: string) =>
  new UsageError({ message: `The server at ${url} does not take clients of MCP (${why}). Try --attach=off.` })

/** A socket to the server, on which each line is a message; it closes with the scope. */
const connect = ({ token, url }: ServerTarget, directory: string): Effect.Effect<Duplex, UsageError, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.async<Duplex, UsageError>((resume) => {
      const { request } = url.startsWith("https:") ? https : http
      const asked = request(`${directUrl(url)}/mcp`, {
        headers: {
          Authorization: `Bearer ${Redacted.value(token)}`,
          Connection: "Upgrade",
          Upgrade: "skein-mcp",
          "Skein-Directory": Buffer.from(directory, "utf8").toString("base64url")
        }
      })
      asked.once("upgrade", (_, socket, head) => {
        if (head.length > 0) socket.unshift(head)
        resume(Effect.succeed(socket))
      })
      asked.once("response", ({ statusCode }) => {
        asked.destroy()
        resume(failed(url, `status ${statusCode}`))
      })
      asked.once("error", ({ message }) => resume(failed(url, message)))
      asked.end()
      return Effect.sync(() => asked.destroy())
    }),
    (socket) => Effect.sync(() => socket.destroy())
  )

/** Passes everything on until one side ends. */
export const bridge = Effect.fnUntraced(function*(server: ServerTarget, directory: string) {
  const stdio = yield* Stdio
  const socket = yield* connect(server, directory)
  stdio.err(`Attached to the server at ${server.url}: its environment, config and trust apply.`)
  const input = stdio.input()
  const ending = yield* Effect.async<"client" | "server">((resume) => {
    let isOver = false
    input.once("end", () => {
      isOver = true
    })
    socket.on("error", () => undefined)
    socket.once("close", () => resume(Effect.succeed(isOver ? "client" : "server")))
    socket.setEncoding("utf8").on("data", (text: string) => stdio.out(text))
    input.pipe(socket)
  })
  if (ending === "client") return ExitCode.done
  stdio.err(errorLine(`The server at ${server.url} has ended the connection. What was delegated has been stopped.`))
  return ExitCode.failed
})
