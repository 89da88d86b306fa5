/** Leads clients of MCP to their door: requests for `/mcp`, and sockets that become a pair of streams there. */
import { problem } from "@skein/api/Problem"
import type { ManyServices } from "@skein/core/Skein"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as FiberSet from "effect/FiberSet"
import * as Scope from "effect/Scope"
import type { IncomingMessage, ServerResponse } from "node:http"
import type { Duplex } from "node:stream"
import type { ServerOptions } from "../../ServerOptions.ts"
import { answerSocket, refuse } from "../respond.ts"

/** What a socket is asked to speak: the messages of MCP, one a line. */
const protocol = "skein-mcp"

const none = () => problem(404, "RouteNotFound", "This server has no door for clients of MCP.")

const noUpgrade = () => problem(400, "BadRequest", `Only /mcp can be upgraded, and only to ${protocol}.`)

const isDoor = ({ url = "" }: IncomingMessage): boolean => url.split("?", 1)[0] === "/mcp"

/** The directory that a client says it works in. */
const directoryOf = ({ headers }: IncomingMessage): string | undefined => {
  const { "skein-directory": written } = headers
  return typeof written === "string" ? Buffer.from(written, "base64url").toString("utf8") : undefined
}

/** Makes the functions that take requests and sockets; the first one says whether a request was for it. */
export const makeMcp = Effect.fnUntraced(function*({ mcp }: Pick<ServerOptions, "mcp">) {
  // What clients have delegated is stopped when the server ends, before the rest is left to the next one.
  const scope = yield* Effect.acquireRelease(Scope.make(), (made) => Scope.close(made, Exit.void))
  const services = yield* Effect.context<ManyServices>()
  const door = mcp === undefined
    ? undefined
    : yield* Effect.cached(Effect.provide(Scope.extend(mcp, scope), services))
  const fork = yield* Scope.extend(FiberSet.makeRuntime<never>(), scope)

  const answer = (request: IncomingMessage, response: ServerResponse): boolean => {
    if (!isDoor(request)) return false
    if (door === undefined) refuse(request, response, none())
    else fork(Effect.map(door, (opened) => opened.answer(request, response)))
    return true
  }

  const upgrade = (request: IncomingMessage, socket: Duplex): void => {
    if (!isDoor(request) || request.headers.upgrade?.toLowerCase() !== protocol) {
      return answerSocket(socket, noUpgrade())
    }
    if (door === undefined) return answerSocket(socket, none())
    socket.write(`HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: ${protocol}\r\n\r\n`)
    fork(
      Effect.flatMap(door, ({ serve }) => serve({ input: socket, output: socket, directory: directoryOf(request) }))
        .pipe(
          Effect.ensuring(Effect.sync(() => socket.destroy()))
        )
    )
  }
  return { answer, upgrade }
})
