import { readFileSync } from "node:fs"
import { join } from "node:path"
import { expect, it } from "vitest"
import { root } from "../scripts/layout.mjs"

interface Locked {
  readonly optionalDependencies?: Record<string, string>
}

// npm leaves out the binaries of other platforms when it cannot see them while it writes the lock file; `npm ci` then
// refuses the lock file everywhere, or installs tools that do not start on those platforms.
it("the lock file holds the packages of every platform", () => {
  const { packages }: { readonly packages: Record<string, Locked> } = JSON.parse(
    readFileSync(join(root, "package-lock.json"), "utf8")
  )
  const missing = Object.entries(packages).flatMap(([path, { optionalDependencies = {} }]) =>
    Object.keys(optionalDependencies).filter((name) =>
      packages[`node_modules/${name}`] === undefined && packages[`${path}/node_modules/${name}`] === undefined
    )
  )
  expect(missing).toEqual([])
})
