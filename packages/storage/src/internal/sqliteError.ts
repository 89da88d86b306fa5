/** Explains the errors of SQLite and of the file system to users of Skein. */
import { StorageError } from "@skein/core/StorageError"
import * as Option from "effect/Option"
import * as Predicate from "effect/Predicate"

type Reason = StorageError["reason"]

/** The code of an error of SQLite or Node; empty if it has none. */
export const codeOf = (cause: unknown): string =>
  Predicate.hasProperty(cause, "code") && typeof cause.code === "string" ? cause.code : ""

const detailOf = (cause: unknown): string => (cause instanceof Error ? cause.message : String(cause))

/**
 * The prefix of a SQLite code, or a code of Node, and its meaning; the first that fits counts. What may pass by itself is
 * `busy`, `full` or `readonly`: in an open database it is tried again for half a minute, and nothing else is (see `retryOutage`).
 */
const meanings: ReadonlyArray<readonly [code: string, reason: Reason]> = [
  ["SQLITE_BUSY", "busy"],
  ["SQLITE_LOCKED", "busy"],
  ["SQLITE_PROTOCOL", "busy"],
  ["SQLITE_IOERR_CORRUPTFS", "corrupt"],
  ["SQLITE_IOERR_DATA", "corrupt"],
  ["SQLITE_READONLY_DBMOVED", "gone"],
  ["SQLITE_FULL", "full"],
  ["SQLITE_READONLY", "readonly"],
  ["SQLITE_CORRUPT", "corrupt"],
  ["SQLITE_NOTADB", "corrupt"],
  ["SQLITE_CANTOPEN", "unreadable"],
  ["SQLITE_PERM", "unreadable"],
  ["SQLITE_CONSTRAINT", "constraint"],
  ["SQLITE_TOOBIG", "constraint"],
  ["SQLITE_MISMATCH", "constraint"],
  ["ENOSPC", "full"],
  ["EDQUOT", "full"],
  ["EROFS", "readonly"],
  ["ENOTDIR", "unreadable"],
  // A directory was to be created, but its path is a file.
  ["EEXIST", "unreadable"],
  ["ELOOP", "unreadable"],
  ["ENAMETOOLONG", "unreadable"]
]

/** The codes of a statement that fits no table, or of a fault in SQLite. Nothing of this passes by itself. */
const faults = /^SQLITE_(ERROR|INTERNAL|MISUSE|SCHEMA|RANGE|NOTFOUND|NOLFS|FORMAT|EMPTY)/

const isLock = (detail: string): boolean => /locked|locking protocol|being written/.test(detail)

/** How to fix each reason; `other` is everything else. */
const sentence = (reason: Reason, file: string, detail: string): string => {
  switch (reason) {
    case "busy":
      return isLock(detail)
        ? `${file} was locked by another process for 30 seconds. End the process that holds it ("fuser ${file}" names it), then try again.`
        : `${file} could not be read or written for 30 seconds (${detail}). Check its disk, then try again: what was stored before is safe.`
    case "full":
      return `There is no space left for ${file} (${detail}). Free some space, then try again: what was stored before is safe.`
    case "readonly":
      return `${file} cannot be written (${detail}). Make the file and its directory writable for you, or name another file with --db.`
    case "corrupt":
      return `${file} is damaged (${detail}). Put a backup in its place, or move it away together with ${file}-wal to begin anew.`
    case "newer":
      return `${file} was written by a newer version of Skein (${detail}). Use that version, or name another file with --db.`
    case "older":
      return `${file} was written by a version of Skein from before its first release (${detail}). Export its sessions with that version (skein sessions export ID --output FILE), and import them into another file with --db.`
    case "foreign":
      return `${file} is not a database of Skein (${detail}). Name another file with --db.`
    case "unreadable":
      return `${file} cannot be opened (${detail}). Check the path and your rights to it, or name another file with --db.`
    case "constraint":
      return `The change was refused: something in it is stored already, or belongs to something that is not stored (${detail}).`
    case "gone":
      return `${file} was removed, replaced or cut off while it was in use (${detail}). What was stored in it is lost, or parts of it. Put a backup in its place, or move what is left away, and begin anew: nothing but Skein may change ${file}, ${file}-wal and ${file}-shm while it is in use.`
    case "held":
    case "other":
      return `${file} cannot be used (${detail}).`
  }
}

/** An error with a known reason about a file. */
export const fileError = (operation: string, reason: Reason, file: string, detail: string): StorageError =>
  new StorageError({ operation, reason, message: sentence(reason, file, detail) })

const notLoaded = (cause: unknown): boolean => {
  const code = codeOf(cause)
  return code === "ERR_DLOPEN_FAILED" || code === "MODULE_NOT_FOUND" || detailOf(cause).includes("bindings file")
}

/**
 * Explains an error of better-sqlite3 or Node; `denied` is the reason for a denied permission. None for other errors.
 */
export const explainCause = (
  operation: string,
  file: string,
  cause: unknown,
  denied: Reason = "unreadable"
): Option.Option<StorageError> => {
  if (notLoaded(cause)) {
    const message = `better-sqlite3, which stores the sessions, does not load (${detailOf(cause).split("\n")[0]}). `
      + "Install Skein again on this machine: the binary fits one platform."
    return Option.some(new StorageError({ operation, reason: "other", message }))
  }
  const code = codeOf(cause)
  if (code === "") return Option.none()
  const known = code === "EACCES" || code === "EPERM"
    ? denied
    : meanings.find(([prefix]) => code.startsWith(prefix))?.[1] ?? "other"
  // While it is opened, a file that cannot be read is reported at once. Later, its disk, the network below it, or a limit of
  // the process may be in the way for a moment.
  const passes = operation !== "open" && (known === "unreadable" || known === "other") && !faults.test(code)
  return Option.some(fileError(operation, passes ? "busy" : known, file, detailOf(cause)))
}

/** Explains whatever went wrong with an open file. */
export const failed = (operation: string, file: string) => (cause: unknown): StorageError =>
  Option.getOrElse(explainCause(operation, file, cause), () => fileError(operation, "other", file, String(cause)))
