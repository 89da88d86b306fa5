import * as Skein from "@skein/core/Skein"
import * as OpenAi from "@skein/provider/OpenAi"
import * as Sqlite from "@skein/storage/Sqlite"

/** Agents with durable sessions, which another process can continue. */
export const agents = Skein.layer({
  provider: OpenAi.layer,
  storage: Sqlite.layer({ filename: "sessions.db" })
})
