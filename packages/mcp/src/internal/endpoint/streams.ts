/** Serves one client over two streams, of which each line is a message. */
import { serveStdio, StdioServerTransport } from "@modelcontextprotocol/server/stdio"
import * as Effect from "effect/Effect"
import type { Readable, Writable } from "node:stream"
import type { McpService } from "../../McpService.ts"

/** The longest message, in bytes: a client that sends more is cut off. */
const longest = 8 * 1024 * 1024

/** Reports that it has closed, on either side. */
class Wire extends StdioServerTransport {
  readonly #closed: () => void
  constructor(input: Readable, output: Writable, closed: () => void) {
    super(input, output, { maxBufferSize: longest })
    this.#closed = closed
  }
  override async close() {
    await super.close()
    this.#closed()
  }
}

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
