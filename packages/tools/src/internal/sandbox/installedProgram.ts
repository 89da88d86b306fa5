/** Finds the packages that Skein runs. If they are installed in a project, its commands must not change them. */
import * as NodeFs from "node:fs"
import { dirname, join } from "node:path"
import { attempt } from "../processes.ts"

/** The maximum number of packages that are followed. */
const mostPackages = 200

const isPackage = (directory: string): boolean => NodeFs.existsSync(join(directory, "package.json"))

const packageAround = (directory: string): string | undefined =>
  isPackage(directory) ? directory : dirname(directory) === directory ? undefined : packageAround(dirname(directory))

const dependenciesOf = (directory: string): ReadonlyArray<string> =>
  attempt(() => {
    const { dependencies = {}, optionalDependencies = {} } = JSON.parse(
      NodeFs.readFileSync(join(directory, "package.json"), "utf8")
    )
    return Object.keys({ ...dependencies, ...optionalDependencies })
  }, [])

/** Where Node finds a package that is imported from a directory. */
const resolved = (name: string, directory: string): string | undefined => {
  const place = join(directory, "node_modules", name)
  if (isPackage(place)) return attempt(() => NodeFs.realpathSync(place), place)
  return dirname(directory) === directory ? undefined : resolved(name, dirname(directory))
}

/** The package of a file, and all its dependencies; none if it was not installed as a package. */
export const installedPackages = (file: string): ReadonlyArray<string> => {
  const first = packageAround(dirname(file))
  if (first === undefined || !/\/node_modules\//.test(first)) return []
  const found = new Set([first])
  for (const each of found) {
    if (found.size > mostPackages) break
    for (const name of dependenciesOf(each)) {
      const place = resolved(name, each)
      if (place !== undefined) found.add(place)
    }
  }
  return [...found]
}
