/** HTTP servers that tests of clients talk to. */
import * as Effect from "effect/Effect"
import { createServer, type RequestListener } from "node:http"
import type { AddressInfo } from "node:net"

/** Answers requests on a loopback port until the scope closes; gives the URL. */
export const served = (answer: RequestListener) =>
  Effect.acquireRelease(
    Effect.async<{ readonly url: string; readonly close: () => void }>((resume) => {
      const server = createServer(answer)
      server.listen(0, "127.0.0.1", () =>
        resume(Effect.succeed({
          url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
          close: () => {
            server.closeAllConnections()
            server.close()
          }
        })))
    }),
    ({ close }) => Effect.sync(close)
  )
