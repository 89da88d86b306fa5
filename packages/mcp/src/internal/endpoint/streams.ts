/** Serves one client over two streams, of which each line is a message. */
import type { McpServer, Server } from "@modelcontextprotocol/server"
import { serveStdio } from "@modelcontextprotocol/server/stdio"
import * as Effect from "effect/Effect"
import type { Readable, Writable } from "node:stream"
import type { McpService } from "../../McpService.ts"
import { Wire } from "./wire.ts"

/** Tells a client that its list of resources has changed. One that has gone need not know. */
export const tellChanged = (server: McpServer | Server): Effect.Effect<void> =>
  Effect.catchAll(
    Effect.tryPromise(async () => {
      await server.sendResourceListChanged()
    }),
    ({ error }) => Effect.logDebug("A client could not be notified of new resources", String(error))
  )

/** Serves until the input ends, or until the output cannot be written. */
export const serveStreams = (service: McpService) =>
({ directory, input, output }: {
  readonly directory: string | undefined
  readonly input: Readable
  readonly output: Writable
}): Effect.Effect<void> =>
  Effect.scoped(Effect.gen(function*() {
    const opened = yield* service.open({ directory, isLasting: true })
    // One for the revision that the client turns out to speak.
    const servers: Array<ReturnType<typeof opened.makeServer>> = []
    const makeServer = () => {
      const server = opened.makeServer()
      servers.push(server)
      return server
    }
    yield* Effect.forkScoped(Effect.forever(Effect.zipRight(
      opened.resourcesChanged,
      Effect.forEach(servers, tellChanged, { discard: true })
    )))
    const faults: Array<string> = []
    yield* Effect.async<void>((resume) => {
      const handle = serveStdio(makeServer, {
        transport: new Wire(input, output, () => resume(Effect.void)),
        onerror: ({ message }) => void (faults.length < 10 && faults.push(message))
      })
      return Effect.promise(() => handle.close())
    })
    if (faults.length > 0) yield* Effect.logDebug("A client of MCP sent what is no message", ...faults)
  }))
