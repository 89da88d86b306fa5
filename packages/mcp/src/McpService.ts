/** Defines what an endpoint serves: for each client that connects, a server that answers it. */
import type { McpServer, Server } from "@modelcontextprotocol/server"
import type * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"

/** How a client is connected. */
export interface McpConnection {
  /** The directory that the client works in, where that is known. */
  readonly directory: string | undefined
  /** Whether the scope ends with the client; if not, it serves requests that stand alone, of any number of clients. */
  readonly isLasting: boolean
}

/** What a connection owns. */
export interface McpOpened {
  /** Makes a server, once for each request if they stand alone. */
  readonly makeServer: () => McpServer | Server
  /** Ends once the list of resources that clients have read has changed, at most once a second. */
  readonly resourcesChanged: Effect.Effect<void>
}

/** What is served. */
export interface McpService {
  /** Opens what a connection owns, until the scope closes. */
  readonly open: (connection: McpConnection) => Effect.Effect<McpOpened, never, Scope.Scope>
}
