/** What a release refuses, and what it reports of a package that it tried. */
import { spawnSync } from "node:child_process"
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterEach, expect, it } from "vitest"
import { root } from "../scripts/layout.mjs"
import { packagesOf, publishedManifest } from "../scripts/release/packages.mjs"
import { problemsOf } from "../scripts/release/problems.mjs"
import { undeclared } from "../scripts/release/rehearse.mjs"

const made: Array<string> = []
afterEach(() => {
  for (const each of made.splice(0)) rmSync(each, { recursive: true, force: true })
})

const directory = () => {
  const path = mkdtempSync(join(tmpdir(), "skein-release-"))
  made.push(path)
  return path
}

const write = (path: string, value: unknown) =>
  writeFileSync(path, typeof value === "string" ? value : JSON.stringify(value))

/** A clone with two releasable packages, except for the given differences. */
const workspace = (different: {
  readonly high?: object
  readonly locked?: object
  readonly changelog?: string
  readonly uncommitted?: string
} = {}) => {
  const top = directory()
  for (const name of ["low", "high"]) mkdirSync(join(top, "packages", name), { recursive: true })
  write(join(top, "packages", "low", "package.json"), { name: "@skein/low", version: "1.2.0" })
  write(join(top, "packages", "high", "package.json"), {
    name: "@skein/high",
    version: "1.2.0",
    dependencies: { "@skein/low": "1.2.0" },
    ...different.high
  })
  write(join(top, "package-lock.json"), {
    packages: { "packages/low": { version: "1.2.0" }, "packages/high": { version: "1.2.0" }, ...different.locked }
  })
  write(join(top, "CHANGELOG.md"), different.changelog ?? "# Changelog\n\n## 1.2.0\n\nMore.\n")
  const git = (...args: ReadonlyArray<string>) =>
    spawnSync("git", ["-c", "user.name=t", "-c", "user.email=t@t", ...args], { cwd: top })
  git("init", "-q")
  git("add", "-A")
  git("commit", "-q", "-m", "All")
  if (different.uncommitted !== undefined) write(join(top, different.uncommitted), "")
  return top
}

it("finds nothing wrong with a clean clone with consistent versions", () => {
  expect(problemsOf(workspace())).toEqual([])
})

it.each<readonly [problem: string, of: Parameters<typeof workspace>[0], said: ReadonlyArray<RegExp>]>([
  ["a change that is not committed", { uncommitted: "new.txt" }, [/not clean:\s+\?\? new\.txt\s+Commit/]],
  [
    "another version",
    { high: { version: "1.1.0" }, locked: { "packages/high": { version: "1.1.0" } } },
    [/packages\/high\/package\.json: version is 1\.1\.0.+Set "version" to 1\.2\.0/]
  ],
  [
    "a sibling in another version",
    { high: { dependencies: { "@skein/low": "^1.1.0" } } },
    [/high\/package\.json: asks for @skein\/low \^1\.1\.0.+Set it to 1\.2\.0/]
  ],
  ["a lock file that was not renewed", { locked: { "packages/high": { version: "1.1.0" } } }, [
    /^package-lock\.json: has 1\.1\.0.+npm install/
  ]],
  ["no entry in the changelog", { changelog: "# Changelog\n\n## 1.1.0\n\nIt was before 1.2.0.\n" }, [
    /^CHANGELOG\.md has no heading for 1\.2\.0/
  ]],
  ["no semver version", { high: { version: "v1" }, locked: { "packages/high": { version: "v1" } } }, [
    /no semver version/
  ]]
])("refuses %s, and says how to fix it", (_, different, said) => {
  const found = problemsOf(workspace(different))
  for (const each of said) expect(found).toContainEqual(expect.stringMatching(each))
})

it("the command exits with 1 if a check fails, and with 2 for an unknown option", () => {
  const run = (env: Readonly<Record<string, string>>, ...args: ReadonlyArray<string>) =>
    spawnSync(process.execPath, [join(root, "scripts", "release", "run.mjs"), ...args], {
      encoding: "utf8",
      env: { ...process.env, ...env }
    })
  // To git, no file of the clone was ever added.
  expect(run({ GIT_INDEX_FILE: join(directory(), "index") }, "--dry-run")).toMatchObject({
    status: 1,
    stdout: "",
    stderr: expect.stringContaining("The tree is not clean")
  })
  expect(run({}, "--dry")).toMatchObject({ status: 2, stderr: expect.stringContaining("usage: npm run release") })
  expect(run({}, "--help")).toMatchObject({ status: 0, stderr: "" })
})

it("publishes each package after its dependencies", () => {
  const names = packagesOf(workspace({ high: { name: "@skein/high" } })).map(({ manifest }) => manifest.name)
  expect(names).toEqual(["@skein/low", "@skein/high"])
  expect(packagesOf().at(-1)?.manifest.name).toBe("skein")
})

it("publishes the build instead of the sources", () => {
  const [domain] = packagesOf()
  if (domain === undefined) throw new Error("there is no package")
  expect(publishedManifest(domain.manifest)).toMatchObject({
    name: "@skein/domain",
    exports: { "./internal/*": null, "./*": { types: "./dist/*.d.ts", default: "./dist/*.js" } }
  })
  expect(Object.keys(publishedManifest(domain.manifest))).not.toContain("scripts")
})

it("finds an undeclared import, in code and in types", () => {
  const top = directory()
  write(join(top, "package.json"), { name: "@skein/low", dependencies: { effect: "1.0.0" } })
  write(
    join(top, "a.js"),
    `// from "comment"\nimport "effect/Effect"\nimport "node:fs"\nawait import("lazy/x")\nexport * from "./b.js"\n`
  )
  write(join(top, "a.d.ts"), `export type { X } from "@other/types/X"\n`)
  const files = ["a.js", "a.d.ts", "package.json"].map((path) => ({ path, size: 1 }))
  const tarball = { name: "@skein/low", directory: top, file: "", size: 1, unpackedSize: 1, files }
  expect(undeclared(tarball)).toEqual([
    "@skein/low: a.js imports lazy, which its package.json does not declare.",
    "@skein/low: a.d.ts imports @other/types, which its package.json does not declare."
  ])
})
