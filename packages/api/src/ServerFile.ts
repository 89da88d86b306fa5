/** Decides what a running server leaves for programs of the same user to find it by. */
import * as Schema from "effect/Schema"

/** The file of a server: one for each database, readable by the user alone. It is the only place of the token. */
export const ServerFile = Schema.Struct({
  url: Schema.String,
  pid: Schema.Int,
  version: Schema.String,
  token: Schema.String
})
/** The type of what the file of a server holds. */
export interface ServerFile extends Schema.Schema.Type<typeof ServerFile> {}
