/** Decides how to report that a runner cannot join. */
import * as Schema from "effect/Schema"

/** The database of the cluster cannot be used. The message says why, and how to fix it. */
export class ClusterUnavailable extends Schema.TaggedError<ClusterUnavailable>()("ClusterUnavailable", {
  message: Schema.String
}) {}

/** Says that something failed in the database. */
export const unavailable = (what: string) => (error: { readonly message: string }): ClusterUnavailable =>
  new ClusterUnavailable({
    message: `${what} (${error.message}). See whether the PostgreSQL server runs and lets this user create tables.`
  })
