/** Decides which file a running server writes, so that programs of the same user can find it. */
import * as Schema from "effect/Schema"

/** The file of a server: one for each database, readable by the user alone. It is the only place of the token. */
export const ServerFile = Schema.Struct({
  url: Schema.String,
  /** The address at which a proxy serves it. */
  publicUrl: Schema.optional(Schema.String),
  pid: Schema.Int,
  version: Schema.String,
  token: Schema.String
})
/** The type of the file's contents. */
export interface ServerFile extends Schema.Schema.Type<typeof ServerFile> {}
