/** The tables of directories: by what a host proves that it sees one, and which trees wait for the host of theirs. */
export const placeTables = [
  `CREATE TABLE IF NOT EXISTS cluster_directory (
    host TEXT NOT NULL, directory TEXT NOT NULL, hash TEXT NOT NULL, PRIMARY KEY (host, directory)
  )`,
  `CREATE TABLE IF NOT EXISTS cluster_waiting (
    root_id TEXT PRIMARY KEY, host TEXT NOT NULL, directory TEXT NOT NULL, seen TIMESTAMPTZ NOT NULL
  )`
]
