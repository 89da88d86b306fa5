/** Every published package describes itself, and contains its licence. */
import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { describe, expect, it } from "vitest"

interface Manifest {
  readonly name: string
  readonly version: string
  readonly description?: string
  readonly dependencies?: Readonly<Record<string, string>>
}

const root = fileURLToPath(new URL("..", import.meta.url))
const read = (path: string) => readFileSync(join(root, path), "utf8")
const manifestOf = (name: string): Manifest => JSON.parse(read(`packages/${name}/package.json`))
const names = readdirSync(join(root, "packages"), { withFileTypes: true }).flatMap((entry) =>
  entry.isDirectory() ? [entry.name] : []
)

/** The program is what people install: it has the short name. */
const nameOf = (name: string) => name === "cli" ? "skein" : `@skein/${name}`

describe.each(names)("packages/%s", (name) => {
  const manifest = manifestOf(name)

  it("is named like its directory, and has a description for the registry and a page for readers", () => {
    expect(manifest).toMatchObject({
      name: nameOf(name),
      license: "MIT",
      description: expect.stringMatching(/.{20}/)
    })
    expect(read(`packages/${name}/README.md`)).toMatch(new RegExp(`^# ${nameOf(name)}\n`))
  })

  // npm takes the licence only from the directory of the package.
  it("has the licence of the repository", () => {
    expect(read(`packages/${name}/LICENSE`)).toBe(read("LICENSE"))
  })

  it("depends on its siblings of the same version", () => {
    const siblings = Object.entries(manifest.dependencies ?? {}).filter(([each]) => each.startsWith("@skein/"))
    for (const [sibling, version] of siblings) {
      expect(version, sibling).toBe(manifestOf(sibling.slice("@skein/".length)).version)
    }
  })
})
