/** Decides how to report that a server must not work on a database, because of those that already do. */
import { hostOf } from "@skein/core/Owner"
import * as Schema from "effect/Schema"

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
