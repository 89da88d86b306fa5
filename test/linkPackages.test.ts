/** An updated clone finds the packages that came with the update. */
import { existsSync, mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterEach, beforeEach, expect, it } from "vitest"
import { linkPackages } from "../scripts/linkPackages.mjs"

let clone: string

beforeEach(() => {
  clone = realpathSync(mkdtempSync(join(tmpdir(), "skein-link-")))
  for (const name of ["old", "new"]) mkdirSync(join(clone, "packages", name), { recursive: true })
  const links = ["old", "new"].map((name) => [`node_modules/@x/${name}`, { resolved: `packages/${name}`, link: true }])
  const packages = { ...Object.fromEntries(links), "node_modules/foreign": { version: "1.0.0" } }
  writeFileSync(join(clone, "package-lock.json"), JSON.stringify({ packages }))
  mkdirSync(join(clone, "node_modules", "@x"), { recursive: true })
  symlinkSync("../../packages/old", join(clone, "node_modules", "@x", "old"))
})

afterEach(() => rmSync(clone, { recursive: true, force: true }))

it("links a new package of the repository, and nothing else", () => {
  linkPackages(clone)
  expect(realpathSync(join(clone, "node_modules", "@x", "new"))).toBe(join(clone, "packages", "new"))
  expect(realpathSync(join(clone, "node_modules", "@x", "old"))).toBe(join(clone, "packages", "old"))
  expect(existsSync(join(clone, "node_modules", "foreign"))).toBe(false)
})
