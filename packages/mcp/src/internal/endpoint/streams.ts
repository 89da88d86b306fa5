/** Serves one client over two streams, of which each line is a message. */
import { serveStdio } from "@modelcontextprotocol/server/stdio"
import * as Effect from "effect/Effect"
import type { Readable, Writable } from "node:stream"
import type { McpService } from "../../McpService.ts"
import { Wire } from "./wire.ts"

/** Serves until the input ends, or until the output cannot be written. */
export const serveStreams = (service: McpService) =>
({ directory, input, output }: {
  readonly directory: string | undefined
  readonly input: Readable
  readonly output: Writable
}): Effect.Effect<void> =>
  Effect.scoped(Effect.gen(function*() {
    const makeServer = yield* service.open({ directory, isLasting: true })
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
