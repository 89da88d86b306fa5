import { describe, expect, it } from "@effect/vitest"
import * as Workspace from "@skein/testing/Workspace"
import * as Effect from "effect/Effect"
import { readdirSync, readFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { go, large, mixed, monorepo, python } from "./support/fixtures.ts"
import { runWith } from "./support/loop.ts"
import { realTools } from "./support/tools.ts"
import { type Files, run } from "./support/workspace.ts"

const prompt = "Survey this repository: entry points, modules, dependencies, open TODOs."

const onDisk = (files: Files) =>
  Effect.map(
    Workspace.make(
      Object.fromEntries(
        Object.entries(files).map(([path, text]) => [path, text ?? new Uint8Array([0x89, 0x50, 0, 1, 2, 0xff])])
      )
    ),
    ({ directory }) => directory
  )

describe("with the real tools", () => {
  for (const [name, files] of Object.entries({ monorepo, python, go, mixed, large, nothing: {} })) {
    it.scoped(`the project ${name} gets the same report as in memory`, () =>
      Effect.gen(function*() {
        const directory = yield* onDisk(files)
        const { text } = yield* Effect.flatMap(realTools(directory), (tools) => runWith(tools, prompt))
        expect(text).toBe((yield* run(files, prompt)).text)
      }))
  }
})

describe("of this repository", () => {
  const root = fileURLToPath(new URL("../../..", import.meta.url)).replace(/\/$/, "")
  const lineAt = (path: string, line: number): string =>
    readFileSync(join(root, path), "utf8").split("\n")[line - 1] ?? ""

  /** The target of an import in a line: a package, or the path of a file of this repository. */
  const targetOf = (path: string, line: string): string => {
    const [, named = ""] = /["']((?:@skein\/|\.)[^"']*)["']/.exec(line) ?? []
    return named.startsWith(".") ? join(dirname(path), named) : named
  }

  it.effect(
    "returns a short, complete report with correct places",
    () =>
      Effect.gen(function*() {
        const { text } = yield* Effect.flatMap(realTools(root), (tools) => runWith(tools, prompt))
        const lines = text.split("\n")
        // A module has its row in the table, and at most three lines in the drawing.
        const modules = lines.filter((line) => /^\| [\w(.]/.test(line)).length - 1
        expect(lines.length).toBeLessThanOrEqual(60 + 4 * modules)
        expect(text).not.toContain("Not covered")
        expect(text).toContain("- command skein -> packages/cli/bin/skein.js (packages/cli/package.json:")

        const packages = readdirSync(join(root, "packages"), { withFileTypes: true }).filter((entry) =>
          entry.isDirectory()
        )
        for (const { name } of packages) expect(text).toContain(`| packages/${name} `)

        let from = ""
        let arrows = 0
        for (const line of lines) {
          if (/^[\w./*()]+$/.test(line)) from = line
          const [, to = "", path = "", number = ""] = /^ {2}-> (\S+) +\d+x {2}(.+):(\d+)$/.exec(line) ?? []
          if (to === "") continue
          arrows++
          expect(path).toMatch(new RegExp(`(^|/)${from}/`))
          expect(targetOf(path, lineAt(path, Number(number)))).toContain(to.replace("/*", ""))
        }
        expect(arrows).toBeGreaterThan(8)
      }),
    60_000
  )
})
