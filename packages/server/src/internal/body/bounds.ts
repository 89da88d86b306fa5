/** Decides how large the body of a request may be. */
import { publicPaths } from "@skein/api/Api"
import { importPath } from "@skein/api/ArchiveRoutes"
import { problem } from "@skein/api/Problem"
import { largestArchive, largestBody } from "../../ServerOptions.ts"

/**
 * The largest body of a request that needs no token, in bytes. To read and check one of megabytes would hold up the server
 * for all others, and anybody may send it.
 */
const largestPublicBody = 4 * 1024

const pathOf = (url = ""): string => url.split("?", 1)[0] ?? ""

/** Whether a request contains an archive, which its route reads itself. */
export const bringsArchive = (url?: string): boolean => pathOf(url) === importPath

/** The maximum body of a request to this URL, in bytes. */
export const boundOf = (url?: string): number => {
  if (publicPaths.has(pathOf(url))) return largestPublicBody
  return bringsArchive(url) ? largestArchive : largestBody
}

const sizeText = (bytes: number): string => bytes < 1024 * 1024 ? `${bytes / 1024} KB` : `${bytes / 1024 / 1024} MB`

/** The error for a larger body. */
export const sizeProblem = (bound: number) =>
  problem(413, "BodyTooLarge", `The body is larger than ${sizeText(bound)}. Send less.`)
