/**
 * Recognises files of Skein's own by the form of their path, wherever they are: other programs of Skein on this machine
 * may keep theirs in directories that this one does not know.
 */

/** The record of a server, in which its token is. */
const server = /\/servers\/[\da-f]{16}\.json(?:\.\w+)?$/i

/** A database, with the files that SQLite makes next to it. */
const database = /\/skein\.db(?:-\w+)?$/i

/** What else lies in a data directory: trust, logins, kept steps, and the records of worktrees. */
const inData =
  /\/skein\/(?:trust\.json(?:\.\w+)?$|mcp-logins\/.|steps\/ses_\w+\.git(?:\/|$)|worktrees\/[\da-f]{16}\/ses_\w+\.json(?:\.\w+)?$)/i

/** The proof that a host of a cluster sees a directory, also before it has its name. */
const proof = /\/(?:\.git\/skein-host|\.skein-host\/nonce)(?:\.[\da-f]+)?$/i

/** Whether an absolute path has the form of a file of Skein's own that no call may see. */
export const isOwnForm = (path: string): boolean =>
  server.test(path) || database.test(path) || inData.test(path) || proof.test(path)

/** Where such a proof lies in a directory of git. */
export const proofIn = (git: string): string => `${git}/skein-host`
