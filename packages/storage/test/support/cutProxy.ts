/** A proxy to a server that can be cut at a known point. */
import * as Effect from "effect/Effect"
import { once } from "node:events"
import { connect, createServer, type Socket } from "node:net"

/**
 * Where the next connection that commits is cut: before the server gets the COMMIT, while it processes it, or after it
 * and before the acknowledgement. One that is `unheard` or `unanswered` stays open: nothing gets to the server any more, or
 * nothing comes back, as if packets vanished.
 */
export type Cut = "before" | "while" | "after" | "unheard" | "unanswered"

/** A proxy that ends with the scope. */
export const makeProxy = (target: number) =>
  Effect.map(
    Effect.acquireRelease(
      Effect.promise(async () => {
        const sockets = new Set<Socket>()
        const cuts: Array<Cut> = []
        let cutsMade = 0
        let isOpen = true
        const server = createServer((client) => {
          const upstream = connect(target, "127.0.0.1")
          const end = () => {
            client.destroy()
            upstream.destroy()
          }
          for (const socket of [client, upstream]) {
            sockets.add(socket)
            socket.on("close", end).on("error", end)
          }
          if (!isOpen) end()
          let cutting = false
          let isUnheard = false
          let isUnanswered = false
          client.on("data", (data) => {
            if (isUnheard) return
            const cut = data.includes("COMMIT\0") ? cuts.shift() : undefined
            if (cut !== undefined) cutsMade++
            isUnanswered ||= cut === "unheard" || cut === "unanswered"
            isUnheard = cut === "unheard"
            if (isUnheard) return
            if (cut === "before") end()
            else if (cut === "while") {
              client.removeAllListeners("close").destroy()
              upstream.write(data)
            } else {
              cutting ||= cut === "after"
              upstream.write(data)
            }
          })
          upstream.on("data", (data) => {
            if (cutting) end()
            else if (!isUnanswered) client.write(data)
          })
        })
        server.listen(0, "127.0.0.1")
        await once(server, "listening")
        const address = server.address()
        const close = () => {
          isOpen = false
          for (const socket of sockets) socket.destroy()
        }
        return {
          server,
          close,
          proxy: {
            port: typeof address === "object" && address !== null ? address.port : 0,
            /** Cuts the connections of the next commits. */
            cut: (...places: ReadonlyArray<Cut>) => Effect.sync(() => void cuts.push(...places)),
            cutsMade: Effect.sync(() => cutsMade),
            /** Cuts all connections; new ones end immediately. */
            close: Effect.sync(close),
            open: Effect.sync(() => void (isOpen = true))
          }
        }
      }),
      ({ close, server }) =>
        Effect.promise(() => {
          close()
          return new Promise((resolve) => server.close(resolve))
        })
    ),
    ({ proxy }) => proxy
  )
