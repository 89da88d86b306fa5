// @ts-check
// Replaces the package.json of a package by the published one while npm packs it.
import { existsSync, renameSync, statSync, utimesSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { publishedManifest } from "./packages.mjs"

/** @import { Package } from "./packages.mjs" */

/** @param {string} directory */
const pathsOf = (directory) => ({
  manifest: join(directory, "package.json"),
  // Not in dist, which anybody may remove.
  saved: join(directory, ".package.json.clone")
})

/** @param {Package} from */
export const swapManifest = ({ directory, manifest }) => {
  const paths = pathsOf(directory)
  const { atime, mtime } = statSync(paths.manifest)
  renameSync(paths.manifest, paths.saved)
  writeFileSync(paths.manifest, `${JSON.stringify(publishedManifest(manifest), undefined, 2)}\n`)
  // Set-up builds the program again where a package.json is newer.
  utimesSync(paths.manifest, atime, mtime)
}

/** Puts the clone's back, if it was replaced. @param {string} directory */
export const restoreManifest = (directory) => {
  const paths = pathsOf(directory)
  if (existsSync(paths.saved)) renameSync(paths.saved, paths.manifest)
}
