// @ts-check
// npm runs this in a package before it packs it: builds the package, and puts the published package.json in the place of
// the clone's. scripts/release/postpack.mjs puts that back.
import { join } from "node:path"
import { root } from "../layout.mjs"
import { build } from "./assemble.mjs"
import { restoreManifest, swapManifest } from "./manifestSwap.mjs"
import { packagesOf } from "./packages.mjs"

const directory = process.cwd()
// Where npm was ended while it packed, the published one is still there.
restoreManifest(directory)
const found = packagesOf(root).find((each) => each.directory === directory)
if (found === undefined) {
  process.stderr.write(`skein: ${directory} is no package that is published: see ${join(root, "packages")}.\n`)
  process.exit(1)
}
await build([found])
swapManifest(found)
