/** Finds the socket of a connection, which the client of PostgreSQL does not publish. */
import type { Wire } from "@skein/core/Silence"
import type { Connection } from "./dialect.ts"

/** A reserved connection, as `PgClient` of this version makes it; `stream` is the socket, or the encrypted one on it. */
interface Reserved extends Connection {
  readonly pg: { readonly connection: { readonly stream: Wire } }
}

/** The socket of a reserved connection. */
export const wireOf = (connection: Connection): Wire => (connection as Reserved).pg.connection.stream
