/** The examples of the READMEs and docs are the files that the other tests check and run. */
import { existsSync, readdirSync, readFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { describe, expect, it } from "vitest"

const root = fileURLToPath(new URL("..", import.meta.url))
const packages = readdirSync(join(root, "packages"), { withFileTypes: true }).flatMap((entry) =>
  entry.isDirectory() ? [`packages/${entry.name}`] : []
)
const read = (path: string) => readFileSync(join(root, path), "utf8")

const examplesOf = (readme: string): ReadonlyArray<{ readonly file: string; readonly code: string }> =>
  [...read(readme).matchAll(/<!-- (test\/\S+) -->\s+```ts\n([\s\S]*?)```/g)].map(([, file = "", code = ""]) => ({
    file,
    code
  }))

const docs = readdirSync(join(root, "docs"), { recursive: true, encoding: "utf8" })
  .flatMap((name) => name.endsWith(".md") ? [`docs/${name}`] : [])
const pages = [
  "README.md",
  "ARCHITECTURE.md",
  "CONTRIBUTING.md",
  ...docs,
  ...packages.map((path) => `${path}/README.md`)
]

describe.each(pages)("%s", (page) => {
  it("shows examples as they are in the checked files", () => {
    const examples = examplesOf(page)
    expect(read(page).match(/```ts/g) ?? []).toHaveLength(examples.length)
    for (const { code, file } of examples) expect(code, file).toBe(read(file))
  })

  it("links only to existing files", () => {
    const links = [...read(page).matchAll(/\]\(([^)#:]+)\)/g)].map(([, path = ""]) => path)
    expect(links.filter((path) => !existsSync(join(root, dirname(page), path)))).toEqual([])
  })

  it("names only existing files", () => {
    const names = [...read(page).matchAll(/`((?:packages|scripts|test)\/[\w./-]+\.\w+)`/g)].map(([, path = ""]) => path)
    expect(names.filter((path) => !existsSync(join(root, path)))).toEqual([])
  })
})

it("shows how to embed and how to test", () => {
  expect(examplesOf("README.md").map(({ file }) => file)).toEqual(["test/examples/embed.ts"])
  expect(examplesOf("docs/testing.md").map(({ file }) => file)).toEqual(["test/examples/tree.test.ts"])
})

it("answers a newcomer's questions in a README of at most 150 lines", () => {
  const lines = read("README.md").trimEnd().split("\n")
  expect(lines.length).toBeLessThanOrEqual(150)
  expect(lines.filter((line) => line.startsWith("## "))).toEqual([
    "## Install",
    "## Quick start on your own project",
    "## The five ideas",
    "## Stop it from touching something",
    "## Embed it",
    "## Documentation"
  ])
})

it("links every guide from the README", () => {
  const readme = read("README.md")
  const guides = docs.filter((path) => !path.startsWith("docs/decisions/"))
  expect(guides.filter((path) => !readme.includes(`](${path})`))).toEqual([])
})

it("every example is shown", () => {
  const shown = [...new Set(pages.flatMap(examplesOf).map(({ file }) => file))]
  const written = ["test/examples", "test/readmes"].flatMap((place) =>
    readdirSync(join(root, place)).map((name) => `${place}/${name}`)
  )
  expect(shown.toSorted()).toEqual(written.toSorted())
})

it("shows the figures of the stored benchmark", () => {
  const rows = read("scripts/bench/results/table.md").split("\n").filter((line) => line.startsWith("|"))
  expect(rows.length).toBeGreaterThan(10)
  expect(read("docs/benchmarks.md")).toContain(rows.join("\n"))
})
