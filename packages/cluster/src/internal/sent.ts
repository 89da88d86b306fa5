/** What runners send on to each other. */
import type { IncomingHttpHeaders } from "node:http"

/** A request that a client has sent, with its whole body. */
export interface Sent {
  readonly method: string
  readonly path: string
  readonly headers: IncomingHttpHeaders
  readonly body: Buffer
}
