/** Decides which file describes the server of a database. It is the same file under every name of the database. */
import * as LocalServer from "@skein/client/LocalServer"
import { DataDirs, realPath } from "@skein/config/DataDirs"
import { isPostgres, place } from "@skein/storage/PostgresUrl"
import * as Effect from "effect/Effect"

/** The canonical name of a database, without user and password. */
const canonicalName = (database: string): string =>
  isPostgres(database) ? place(database) : database === ":memory:" ? database : realPath(database)

/** The file that describes the server of this database. */
export const serverFile = Effect.map(
  DataDirs,
  ({ database, servers }) => LocalServer.fileOf(servers, canonicalName(database))
)
