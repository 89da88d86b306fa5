/** Owns the connections of a runner to the tables of its cluster, beside those of the sessions. */
import * as PgClient from "@effect/sql-pg/PgClient"
import type { SqlClient } from "@effect/sql/SqlClient"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import { type ClusterUnavailable, unavailable } from "../ClusterUnavailable.ts"

/** One is kept for the locks of the engine. */
const maxConnections = 4

/** The tables are in the schema of the sessions. */
const settings = "-c search_path=skein -c client_min_messages=warning -c idle_in_transaction_session_timeout=2s"

/** The database, until the scope closes. */
export const database = (url: Redacted.Redacted): Layer.Layer<SqlClient | PgClient.PgClient, ClusterUnavailable> => {
  const full = new URL(Redacted.value(url))
  full.searchParams.set("options", `${full.searchParams.get("options") ?? ""} ${settings}`.trim())
  return Layer.mapError(
    PgClient.layer({
      url: Redacted.make(full.href),
      applicationName: "skein-cluster",
      maxConnections,
      connectTimeout: "10 seconds"
    }),
    unavailable("The database of the cluster cannot be reached")
  )
}
