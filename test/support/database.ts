/** Reads and locks the program's database from outside. */
import { spawn } from "node:child_process"
import { createRequire } from "node:module"
import { dirname } from "node:path"
import { fileURLToPath } from "node:url"

interface Database {
  readonly prepare: (sql: string) => { readonly all: () => ReadonlyArray<Readonly<Record<string, unknown>>> }
  readonly exec: (sql: string) => void
  readonly close: () => void
}

/** The program's driver: a test of a file needs nothing else of Skein. */
const driver = fileURLToPath(new URL("../../packages/cli/package.json", import.meta.url))

/** Uses a database file alongside the program. */
export const within = <A>(file: string, use: (db: Database) => A): A => {
  const Sqlite = createRequire(driver)("better-sqlite3") as new(path: string) => Database
  const db = new Sqlite(file)
  try {
    return use(db)
  } finally {
    db.close()
  }
}

/** SQLite's report on the whole file. */
export const integrity = (file: string) =>
  within(file, (db) => db.prepare("PRAGMA integrity_check").all().map((row) => row["integrity_check"]))

/** Has a process hold the write lock for a time (ms); returns what ends it, once it has the lock. */
export const locked = (file: string, milliseconds: number) =>
  new Promise<() => void>((resolve) => {
    const script = `
      const db = new (require("better-sqlite3"))(${JSON.stringify(file)})
      db.exec("BEGIN IMMEDIATE")
      console.log("locked")
      setTimeout(() => db.exec("COMMIT"), ${milliseconds})`
    const child = spawn(process.execPath, ["-e", script], {
      cwd: dirname(driver),
      stdio: ["ignore", "pipe", "inherit"]
    })
    child.stdout.once("data", () => resolve(() => void child.kill("SIGKILL")))
  })
