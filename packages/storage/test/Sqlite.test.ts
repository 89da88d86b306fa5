import * as Sqlite from "@skein/storage/Sqlite"
import { sessionStorageSuite } from "@skein/testing/SessionStorageSuite"
import { join } from "node:path"

sessionStorageSuite({
  name: "SQLite",
  layer: (directory) => Sqlite.layer({ filename: join(directory, "skein.db") }),
  lasts: true
})
