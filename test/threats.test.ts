/** The proofs that THREATS.md names: each file exists, and so does each test that is quoted after it. */
import { existsSync, readdirSync, readFileSync } from "node:fs"
import { basename, join } from "node:path"
import { describe, expect, it } from "vitest"
import { root } from "../scripts/layout.mjs"

const page = readFileSync(join(root, "packages", "tools", "THREATS.md"), "utf8")

const files = ["test", ...readdirSync(join(root, "packages")).map((name) => join("packages", name, "test"))]
  .filter((folder) => existsSync(join(root, folder)))
  .flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: "utf8" }).map((name) => join(folder, name))
  )

const named = page.split("\n").flatMap((line) => {
  const proofs = /^\|.*\|([^|]*)\|$/.exec(line)?.[1] ?? ""
  return [...proofs.matchAll(/`([A-Za-z]+)`((?:[:,] "[^"]*")*)/g)].map(([, file = "", tests = ""]) => ({
    file,
    tests: [...tests.matchAll(/"([^"]*)"/g)].map(([, test = ""]) => test)
  }))
})

describe("THREATS.md", () => {
  it("names proofs", () => {
    expect(named.length).toBeGreaterThan(50)
    expect(named.flatMap(({ tests }) => tests).length).toBeGreaterThan(20)
  })

  it.each(named)("names $file with its tests", ({ file, tests }) => {
    const texts = files
      .filter((name) => [`${file}.test.ts`, `${file}.full.test.ts`].includes(basename(name)))
      .map((name) => readFileSync(join(root, name), "utf8"))
    expect(texts).not.toEqual([])
    for (const test of tests) expect(texts.join("\n")).toContain(test)
  })
})
