/** Decides which file describes the server of a database. It is the same file under every name of the database. */
import * as LocalServer from "@skein/client/LocalServer"
import { DataDirs } from "@skein/config/DataDirs"
import { isPostgres, place } from "@skein/storage/PostgresUrl"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import { realpathSync } from "node:fs"
import { basename, dirname, join } from "node:path"

const realPath = (path: string): string =>
  Either.getOrElse(
    Either.try(() => realpathSync(path)),
    () => dirname(path) === path ? path : join(realPath(dirname(path)), basename(path))
  )

/** The canonical name of a database, without user and password. */
const canonicalName = (database: string): string =>
  isPostgres(database) ? place(database) : database === ":memory:" ? database : realPath(database)

/** The file that describes the server of this database. */
export const serverFile = Effect.map(
  DataDirs,
  ({ database, servers }) => LocalServer.fileOf(servers, canonicalName(database))
)
