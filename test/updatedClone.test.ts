/** An updated clone finds the packages that came with the update, and builds the program again where its sources differ. */
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  renameSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync
} from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterEach, beforeEach, expect, it } from "vitest"
import { builtFrom } from "../scripts/builtFrom.mjs"
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

it("builds again what has other content, and not what has another time", () => {
  const source = (name: string) => join(clone, "packages", "old", "src", name)
  const now = () => builtFrom(clone)
  mkdirSync(source("deep"), { recursive: true })
  for (const name of ["a.ts", "deep/b.ts"]) writeFileSync(source(name), name)
  const built = now()

  for (const name of ["a.ts", "deep/b.ts", "deep"]) utimesSync(source(name), 1, 1)
  rmSync(source("a.ts"))
  writeFileSync(source("a.ts"), "a.ts")
  mkdirSync(join(clone, "packages", "old", "test"))
  writeFileSync(join(clone, "packages", "old", "test", "a.test.ts"), "")
  expect(now()).toBe(built)

  writeFileSync(source("deep/b.ts"), "other")
  const other = now()
  expect(other).not.toBe(built)
  renameSync(source("deep/b.ts"), source("deep/c.ts"))
  expect([built, other]).not.toContain(now())
  rmSync(source("deep/c.ts"))
  expect([built, other]).not.toContain(now())
})
