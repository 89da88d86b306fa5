/** Decides how large the body of a request may be. */
import { importPath } from "@skein/api/ArchiveRoutes"
import { problem } from "@skein/api/Problem"
import { largestArchive, largestBody } from "../../ServerOptions.ts"

/** Whether a request contains an archive, which its route reads itself. */
export const bringsArchive = (url = ""): boolean => url.split("?", 1)[0] === importPath

/** The maximum body of a request to this URL, in bytes. */
export const boundOf = (url?: string): number => bringsArchive(url) ? largestArchive : largestBody

/** The error for a larger body. */
export const sizeProblem = (bound: number) =>
  problem(413, "BodyTooLarge", `The body is larger than ${bound / 1024 / 1024} MB. Send less.`)
