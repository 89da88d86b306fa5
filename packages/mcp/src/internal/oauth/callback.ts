/** Listens on this machine for the browser that comes back from a login, and takes one answer. */
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import { createServer, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import { cleanLine } from "../cleanText.ts"
import { ServerFailed } from "../ServerFailed.ts"

/** What a browser brings back. */
interface Returned {
  readonly code: string
  readonly iss: string | undefined
}

const say = (response: ServerResponse, status: number, words: string) =>
  void response.writeHead(status, {
    "content-type": "text/plain; charset=utf-8",
    "cache-control": "no-store",
    "referrer-policy": "no-referrer",
    connection: "close"
  }).end(`${words}\n`)

const failed = (message: string) => new ServerFailed({ message })

/** What the parameters of an answer mean. */
const read = (query: URLSearchParams, state: string): Effect.Effect<Returned, ServerFailed> => {
  const [code, error, given] = [query.get("code"), query.get("error"), query.get("state")]
  if (given !== state) return failed("the browser came back with an answer to another login; try again")
  if (error !== null) {
    const why = query.get("error_description")
    return failed(`the login was refused: ${cleanLine(why === null ? error : `${error}, ${why}`, 300)}`)
  }
  return code === null
    ? failed("the browser came back without a code")
    : Effect.succeed({ code, iss: query.get("iss") ?? undefined })
}

/** Listens until the scope closes; `port` 0 stands for a free one. */
export const listen = (port: number, state: string) =>
  Effect.gen(function*() {
    const returned = yield* Deferred.make<Returned, ServerFailed>()
    const { url } = yield* Effect.acquireRelease(
      Effect.async<{ readonly close: () => void; readonly url: string }, ServerFailed>((resume) => {
        const server = createServer((request, response) => {
          const asked = new URL(request.url ?? "/", "http://127.0.0.1")
          const address = server.address() as AddressInfo | null
          const isMeant = request.headers.host === `127.0.0.1:${address?.port}`
          if (!isMeant || request.method !== "GET" || asked.pathname !== "/callback") {
            return say(response, 404, "Not found")
          }
          const answer = read(asked.searchParams, state)
          Deferred.unsafeDone(returned, answer)
          say(response, 200, "You can close this page. The terminal shows whether the login worked.")
        })
        server.once("error", ({ message }) => resume(failed(`no port for the login could be opened: ${message}`)))
        server.listen(port, "127.0.0.1", () =>
          resume(Effect.succeed({
            url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/callback`,
            close: () => {
              server.close()
              server.closeAllConnections()
            }
          })))
      }),
      ({ close }) => Effect.sync(close)
    )
    return { url, returned: Deferred.await(returned) }
  })
