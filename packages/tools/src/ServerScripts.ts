/** Remembers the scripts that the command of a server names, and finds out which of them has changed. */
import { createHash } from "node:crypto"
import { readFileSync, statSync } from "node:fs"
import { resolve } from "node:path"
import { attempt } from "./internal/processes.ts"

const isScript = /\.(?:[cm]?[jt]sx?|py|sh|bash|rb|pl|php|lua|jar|ps1)$/i

/** The hash of a script or a program; undefined if there is none, and for data, which may change. */
const hashOf = (path: string, directory: string): string | undefined =>
  attempt(() => {
    const info = statSync(path)
    const isProgram = isScript.test(path) || (path.startsWith(`${directory}/`) && (info.mode & 0o111) !== 0)
    return info.isFile() && isProgram ? createHash("sha256").update(readFileSync(path)).digest("hex") : undefined
  }, undefined)

/** Remembers them as they are now; the result finds one that is no longer the same. */
export const remember = (command: ReadonlyArray<string>, directory: string): () => string | undefined => {
  // A word may be a command line itself, as in `sh -c "node a.mjs"`, or an option with its value.
  const words = command.flatMap((word) => [word, ...word.split(/[\s"'`;|&<>()=$]+/)]).filter((word) => word !== "")
  const paths = [...new Set(words.map((word) => resolve(directory, word)))]
  const before = paths.map((path) => [path, hashOf(path, directory)] as const)
  return () => before.find(([path, hash]) => hashOf(path, directory) !== hash)?.[0]
}
