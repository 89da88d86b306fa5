/**
 * Finds the sockets at which programs of this machine listen: a program can connect to a socket even if it is
 * read-only.
 */
import * as NodeFs from "node:fs"
import { basename, dirname, join } from "node:path"
import { attempt } from "../processes.ts"

const isSocket = (path: string): boolean =>
  attempt(() => NodeFs.lstatSync(path, { throwIfNoEntry: false })?.isSocket() ?? false, false)

/**
 * The absolute, real paths of open sockets in this network namespace. Sockets with relative paths, and those of
 * containers, are not found.
 */
export const openSockets = (): ReadonlyArray<string> => {
  const lines = attempt(() => NodeFs.readFileSync("/proc/net/unix", "utf8"), "").split("\n")
  const paths = lines.flatMap((line) => /^(?:\S+ +){6}\S+ (\/.*)$/.exec(line)?.[1] ?? [])
  return [...new Set(paths)].filter(isSocket).flatMap((path) => {
    const real = attempt(() => join(NodeFs.realpathSync(dirname(path)), basename(path)), "")
    return real === "" ? [] : [real]
  })
}
