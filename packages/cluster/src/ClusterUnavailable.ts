/** Decides how to report that a runner cannot join. */
import type { SqlError } from "@effect/sql/SqlError"
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
