import * as Skein from "@skein/core/Skein"
import * as OpenAi from "@skein/provider/OpenAi"
import * as Sqlite from "@skein/storage/Sqlite"

/** Agents whose sessions last, and can be gone on with by another process. */
export const agents = Skein.layer({
  provider: OpenAi.layer,
  storage: Sqlite.layer({ filename: "sessions.db" })
})
