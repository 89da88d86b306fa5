/** Decides how to report that a server cannot be part of a cluster, or that another one serves its database. */
import type { SqlError } from "@effect/sql/SqlError"
import { hostOf } from "@skein/core/Owner"
import * as Schema from "effect/Schema"

/** The database of the cluster cannot be used. The message says why, and how to fix it. */
export class ClusterUnavailable extends Schema.TaggedError<ClusterUnavailable>()("ClusterUnavailable", {
  message: Schema.String
}) {}

/** What to do, by the code of PostgreSQL or of the system. */
const advice: Readonly<Record<string, string>> = {
  "3D000": "Check the name at the end of SKEIN_DB.",
  "28P01": "Check user and password in SKEIN_DB.",
  "28000": "Check user and password in SKEIN_DB, and pg_hba.conf of the server.",
  "42501": "The user of SKEIN_DB must be allowed to create tables in the schema skein.",
  ECONNREFUSED: "Check host and port in SKEIN_DB, and that the PostgreSQL server runs.",
  ENOTFOUND: "Check the host in SKEIN_DB."
}

const general = "Check that the PostgreSQL server runs, and that the user of SKEIN_DB may create tables."

const codeOf = (cause: unknown): string =>
  typeof cause === "object" && cause !== null && "code" in cause ? String(cause.code) : ""

/** Says that something failed in the database. */
export const unavailable = (what: string) => ({ cause, message }: SqlError): ClusterUnavailable => {
  const why = cause instanceof Error && cause.message !== "" ? cause.message : message
  return new ClusterUnavailable({ message: `${what} (${why}). ${advice[codeOf(cause)] ?? general}` })
}

/** Other servers work on the database. The message says where, and what to do. */
export class ServedElsewhere extends Schema.TaggedError<ServedElsewhere>()("ServedElsewhere", {
  message: Schema.String
}) {}

/** A server at work. */
interface Present {
  readonly owner: string
  readonly url: string
}

const placeOf = ({ owner, url }: Present): string => `${url} on the host ${hostOf(owner) ?? "?"}`

/** Why a server that works alone does not start beside a cluster. */
export const besideCluster = (one: Present, more: number): ServedElsewhere =>
  new ServedElsewhere({
    message: `A cluster works on this database: ${placeOf(one)}${more === 0 ? "" : `, and ${more} more`}. `
      + "A server beside it has to be one of the cluster: skein serve --cluster. "
      + "`skein cluster status` lists its servers; to serve alone, stop all of them first."
  })

/** Why a runner does not start beside a server that works alone. */
export const besideAlone = (other: Present): ServedElsewhere =>
  new ServedElsewhere({
    message: `A server that is not one of a cluster works on this database: ${placeOf(other)}. `
      + "Stop it there, skein serve --stop, and start it again with --cluster."
  })

/** Why a runner does not start beside one that has another secret; `isGiven` says whether its own was given to it. */
export const besideOtherSecret = (other: Present, isGiven: boolean): ServedElsewhere =>
  new ServedElsewhere({
    message: `The server ${placeOf(other)} of this cluster has another secret. `
      + (isGiven
        ? ""
        : "This one was started without --cluster-secret-file, and so uses the secret of the database. ")
      + "Give all of them the same --cluster-secret-file. To change the secret, stop all of them first."
  })
