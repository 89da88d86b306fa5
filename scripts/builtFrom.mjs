// Tells what the program is built from, as one hash. It is of content, because `git pull`, a copy and a switch of branches
// change the times of files that are the same. Node built-ins only: it is read before anything is installed.
import { createHash } from "node:crypto"
import { existsSync, readdirSync, readFileSync } from "node:fs"
import { join, relative } from "node:path"
import { expectedStamp } from "./layout.mjs"

const builders = ["build.mjs", "codeCache.mjs", "licences.mjs", "webPage.mjs"]

/**
 * Its sources, what builds it, and the installed libraries.
 * @param {string} root the top directory of the clone
 */
export const builtFrom = (root) => {
  const files = builders.map((name) => join("scripts", name))
  for (const { name } of readdirSync(join(root, "packages"), { withFileTypes: true })) {
    files.push(join("packages", name, "package.json"))
    for (const directory of ["bin", "src"].map((part) => join(root, "packages", name, part)).filter(existsSync)) {
      for (const entry of readdirSync(directory, { recursive: true, withFileTypes: true })) {
        if (entry.isFile()) files.push(relative(root, join(entry.parentPath, entry.name)))
      }
    }
  }
  const hash = createHash("sha256").update(expectedStamp())
  for (const file of files.toSorted()) {
    const path = join(root, file)
    if (existsSync(path)) hash.update(`${file}\0`).update(readFileSync(path)).update("\0")
  }
  return hash.digest("hex")
}
