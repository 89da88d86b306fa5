// Links packages of this repository that are new since the last install: for them alone, `npm ci` would be a long wait.
// Node built-ins only: it is read before anything is installed.
import { existsSync, mkdirSync, readFileSync, symlinkSync } from "node:fs"
import { dirname, join, relative } from "node:path"

/**
 * What a lock file says of each path.
 * @param {string} root @param {string} file
 * @returns {Record<string, { version?: string, optional?: boolean, link?: boolean, resolved?: string }>}
 */
export const packagesIn = (root, file) => JSON.parse(readFileSync(join(root, file), "utf8")).packages

/** @param {string} root the top directory of the clone */
export const linkPackages = (root) => {
  for (const [path, { link, resolved }] of Object.entries(packagesIn(root, "package-lock.json"))) {
    const from = join(root, path)
    if (link !== true || resolved === undefined || existsSync(from)) continue
    mkdirSync(dirname(from), { recursive: true })
    symlinkSync(relative(dirname(from), join(root, resolved)), from, "junction")
  }
}
