/** Finds the sockets at which programs of this machine listen: what may only be read can still be talked to. */
import * as NodeFs from "node:fs"
import { basename, dirname, join } from "node:path"
import { attempt } from "../processes.ts"

const isSocket = (path: string): boolean =>
  attempt(() => NodeFs.lstatSync(path, { throwIfNoEntry: false })?.isSocket() ?? false, false)

/**
 * The absolute, real paths of sockets that somebody has opened who shares this network. Who named one by a path that is not
 * absolute, and who listens in a container, is not found.
 */
export const openSockets = (): ReadonlyArray<string> => {
  const lines = attempt(() => NodeFs.readFileSync("/proc/net/unix", "utf8"), "").split("\n")
  const paths = lines.flatMap((line) => /^(?:\S+ +){6}\S+ (\/.*)$/.exec(line)?.[1] ?? [])
  return [...new Set(paths)].filter(isSocket).flatMap((path) => {
    const real = attempt(() => join(NodeFs.realpathSync(dirname(path)), basename(path)), "")
    return real === "" ? [] : [real]
  })
}
