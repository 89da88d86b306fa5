// The paths that the scripts use. Node built-ins only: it is read before anything is installed.
import { createHash } from "node:crypto"
import { readFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"

/** The top directory of the clone. */
export const root = dirname(dirname(fileURLToPath(import.meta.url)))

/** Where the bundled command line program goes. */
export const bundleDir = join(root, "packages", "cli", "dist", "bundle")

/** The module that packages/cli/bin/skein.js imports. */
export const bundleEntry = join(bundleDir, "skein.mjs")

/** The same program as one script, and the code compiled from it, which that module prefers. */
export const bundleScript = join(bundleDir, "skein.cjs")

/** See scripts/codeCache.mjs. */
export const codeCache = join(bundleDir, "skein.cache")

/** Tells what the bundle was built from; it is beside the bundle, which is packed whole. */
export const buildStamp = join(dirname(bundleDir), "built-from")

/** The licences of the libraries in the bundle. */
export const thirdPartyFile = join(bundleDir, "THIRD-PARTY.txt")

/** Tells for which lock file and which Node the dependencies were installed; it goes when node_modules goes. */
export const installStamp = join(root, "node_modules", ".skein-install")

/** What that stamp must say. Native modules are compiled for one Node ABI, so that is a part of it. */
export const expectedStamp = () => {
  const lock = createHash("sha256").update(readFileSync(join(root, "package-lock.json"))).digest("hex")
  return `${process.platform}-${process.arch} abi ${process.versions.modules} lock ${lock}\n`
}

/**
 * What a stamp says; undefined when nothing was installed or built, or not to the end.
 * @param {string} stamp
 */
export const readStamp = (stamp) => {
  try {
    return readFileSync(stamp, "utf8")
  } catch {
    return undefined
  }
}
