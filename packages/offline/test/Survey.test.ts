import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { go, large, lines, mixed, monorepo, python } from "./support/fixtures.ts"
import type { Run } from "./support/loop.ts"
import { type Files, type Options, run } from "./support/workspace.ts"

const prompt = "Survey this repository: entry points, modules, dependencies, open TODOs."

const report = (files: Files, options?: Options) => Effect.map(run(files, prompt, options), ({ text }) => text)

/** The lines below a heading. */
const section = (text: string, heading: string): ReadonlyArray<string> => {
  const at = text.split("\n").findIndex((line) => line.startsWith(`## ${heading}`))
  const rest = text.split("\n").slice(at + 1)
  const end = rest.findIndex((line) => line.startsWith("## "))
  return at < 0 ? [] : rest.slice(0, end < 0 ? undefined : end).filter((line) => line !== "")
}

/** The drawing without alignment. */
const arrows = (text: string): ReadonlyArray<string> =>
  section(text, "Dependencies").filter((line) => !line.startsWith("```")).map((line) =>
    line.replace(/\s+/g, " ").trim()
  )

/** The cells of a module's row. */
const row = (text: string, module: string): ReadonlyArray<string> | undefined =>
  section(text, "Modules").map((line) => line.split("|").slice(1, -1).map((cell) => cell.trim())).find(([name]) =>
    name === module
  )

describe("a workspace of npm packages", () => {
  it.effect("says first, and once, that no AI wrote it", () =>
    Effect.map(report(monorepo), (text) => {
      expect(text.split("\n")[0]).toMatch(/^> No AI wrote this\./)
      expect(text.split("\n")[1]).toBe("")
    }))

  it.effect("quotes the project's own introduction", () =>
    Effect.map(report(monorepo), (text) => {
      expect(text).toContain("\n# Acme Rockets\n")
      expect(text).toContain("Launches rockets from a terminal. Since 1949. (README.md:6)")
      expect(text).toContain("- npm package acme, a workspace (package.json:2)")
      expect(text).toContain("- 6 modules, 15 files,")
    }))

  it.effect("lists each entry point once, commands first", () =>
    Effect.map(report(monorepo), (text) =>
      expect(section(text, "Entry points")).toEqual([
        "- command rocket -> packages/cli/bin/rocket.js (packages/cli/package.json:4)",
        "- runs the program (packages/cli/src/main.ts:5)",
        "- npm start -> node packages/cli/bin/rocket.js (package.json:8)",
        "- library @acme/testing -> packages/testing/src/Fake.ts (packages/testing/package.json:3)"
      ])))

  it.effect("draws imports with their first place, importers above what they import, tests separately", () =>
    Effect.map(report(monorepo), (text) =>
      expect(arrows(text)).toEqual([
        "cli",
        "-> core 1x packages/cli/src/main.ts:1",
        "core",
        "-> domain 2x packages/core/src/Launch.ts:4",
        "testing",
        "-> domain 1x packages/testing/src/Fake.ts:1",
        "domain",
        "- In tests only: core -> testing (packages/core/test/Launch.test.ts:2)"
      ])))

  it.effect("counts files, lines and exports of modules, and describes them", () =>
    Effect.map(report(monorepo), (text) => {
      expect(row(text, "packages/domain")).toEqual([
        "packages/domain",
        "2",
        "11",
        "1",
        "TypeScript",
        "What a rocket is (package.json:3)"
      ])
      expect(row(text, "packages/core")?.slice(1, 5)).toEqual(["4", "21", "4", "TypeScript"])
      expect(row(text, "docs")?.slice(1, 5)).toEqual(["1", "5", "-", "Markdown"])
    }))

  it.effect("counts external imports, without those of Node, of strings and of the workspace", () =>
    Effect.map(report(monorepo), (text) =>
      expect(section(text, "External dependencies")).toEqual([
        "- effect: 4 imports (first: packages/cli/src/main.ts:3)",
        "- @effect/platform-node: 1 import (first: packages/cli/src/main.ts:2)",
        "- In tests only: vitest (packages/core/test/Launch.test.ts:3)"
      ])))

  it.effect("lists TODOs in comments, not in strings", () =>
    Effect.map(report(monorepo), (text) => {
      expect(text).toContain("## Open TODO and FIXME: 3\n")
      expect(section(text, "Open TODO")).toEqual([
        "- docs/terminal.md:3  TODO: write this down",
        "- packages/core/src/Launch.ts:7  FIXME(ann): abort is not safe",
        "- packages/core/src/internal/clock.ts:2  TODO: leap seconds"
      ])
    }))

  it.effect("searches in parallel, then starts subagents and reads in parallel, then concludes", () =>
    Effect.map(run(monorepo, prompt), ({ children, steps }) => {
      expect(steps.map((step) => step.map((call) => call.name))).toEqual([
        ["glob"],
        ["read", "read", "task", "task", "task"]
      ])
      expect(
        steps[1]?.filter((call) => call.name === "task").every((call) => call.input["subagent_type"] === "explore")
      ).toBe(true)
      for (const [description, child] of Object.entries(children)) {
        expect(description.split(" ").length).toBeLessThanOrEqual(5)
        expect(child.steps[0]?.filter((call) => call.name === "grep").length).toBeGreaterThan(2)
        for (const step of child.steps) expect(step.length).toBeLessThanOrEqual(14)
      }
    }))

  it.effect("groups equal entry points, those of the project before those of its scripts", () =>
    Effect.map(
      report({
        ...monorepo,
        "packages/cli/src/arguments.ts": lines(
          "export const given = process.argv",
          "// process.argv",
          "export const all = process.argv"
        ),
        ...Object.fromEntries(["a", "b", "c"].map((name) => [`scripts/${name}.mjs`, lines("", "run(process.argv)")])),
        "packages/cli/test/run.test.ts": lines("run(process.argv)")
      }),
      (text) =>
        expect(section(text, "Entry points")).toContain(
          "- reads the command line (packages/cli/src/arguments.ts:1, scripts/a.mjs:2, scripts/b.mjs:2 and 1 more)"
        )
    ))

  it.effect("reports folders that import each other, which may be no cycle of files or Go packages", () =>
    Effect.map(
      report({
        ...monorepo,
        "packages/domain/src/Pad.ts": lines(
          "import { launchRocket } from \"@acme/core/Launch\"",
          "export const pad = launchRocket"
        )
      }),
      (text) => expect(arrows(text)).toContain("- Folders that import each other: core, domain")
    ))
})

describe("a Python package", () => {
  it.effect("names the command and the module that runs", () =>
    Effect.map(report(python), (text) =>
      expect(section(text, "Entry points")).toEqual([
        "- command weather -> weather.cli:main (pyproject.toml:10)",
        "- python -m weather (src/weather/__main__.py:1)"
      ])))

  it.effect("resolves relative and absolute imports to modules", () =>
    Effect.map(report(python), (text) =>
      expect(arrows(text)).toEqual([
        "__main__.py",
        "-> cli.py 1x src/weather/__main__.py:1",
        "cli.py",
        "-> api 1x src/weather/cli.py:8",
        "-> models.py 1x src/weather/cli.py:9",
        "__init__.py",
        "-> models.py 1x src/weather/__init__.py:3",
        "api",
        "-> models.py 1x src/weather/api/client.py:2",
        "models.py",
        "- In tests only: tests -> cli.py (tests/test_cli.py:2)"
      ])))

  it.effect("reports external imports, docstrings and TODOs", () =>
    Effect.map(report(python), (text) => {
      expect(section(text, "External dependencies")).toEqual([
        "- requests: 1 import (first: src/weather/api/client.py:1)",
        "- In tests only: pytest (tests/test_cli.py:1)"
      ])
      expect(row(text, "src/weather/cli.py")?.at(-1)).toBe("Reads arguments (line 3)")
      expect(section(text, "Open TODO")).toEqual([
        "- src/weather/api/client.py:6  TODO retry",
        "- src/weather/models.py:5  XXX units?"
      ])
      expect(text).toContain("# Weather\n\nTells the weather of tomorrow. (README.rst:4)")
    }))
})

describe("a Go module", () => {
  it.effect("lists main functions, arrows of import blocks, and external imports", () =>
    Effect.map(report(go), (text) => {
      expect(section(text, "Entry points")).toEqual(["- main function (cmd/server/main.go:11)"])
      expect(arrows(text)).toEqual([
        "cmd",
        "-> store 1x cmd/server/main.go:8",
        "store",
        "-> model 1x internal/store/store.go:7",
        "model"
      ])
      expect(section(text, "External dependencies")).toEqual([
        "- github.com/lib/pq: 1 import (first: internal/store/store.go:8)"
      ])
      expect(section(text, "Open TODO")).toEqual(["- internal/store/store.go:15  TODO(bo): close it"])
      expect(text).toContain("- Go module example.com/shop (go.mod:1)")
      expect(row(text, "internal/store")?.at(-1)).toBe("Package store keeps things (store.go:1)")
    }))
})

describe("a flat folder", () => {
  it.effect("reads file names with spaces, colons, brackets and umlauts", () =>
    Effect.map(report(mixed), (text) => {
      expect(arrows(text)).toEqual([
        "[id].tsx",
        "-> we:12:ird name.ts 1x [id].tsx:1",
        "main.py",
        "-> helper.py 1x main.py:1",
        "we:12:ird name.ts",
        "-> späte datei.ts 1x we:12:ird name.ts:1",
        "helper.py",
        "späte datei.ts"
      ])
      expect(section(text, "Open TODO")).toEqual([
        "- helper.py:1  FIXME slow",
        "- lib/x:3:y.ts:2  FIXME: 4:5: colons",
        "- run.sh:2  TODO: quote",
        "- we:12:ird  name.ts:2  TODO: rename: 3: times"
      ])
      expect(section(text, "Entry points")).toEqual([
        "- runs as a script (main.py:3)",
        "- executable, run by sh (run.sh:1)"
      ])
    }))

  it.effect("is reported as empty", () =>
    Effect.map(run({}, prompt), ({ steps, text }) => {
      expect(text).toContain("The directory holds no files.")
      expect(steps.flat().map((call) => call.name)).not.toContain("task")
    }))

  it.effect("with one binary has no lines and no program text", () =>
    Effect.map(report({ "image.png": undefined }), (text) => {
      expect(text).toContain("no program text")
      expect(text).toContain("1 module, 1 file, 0 lines")
    }))
})

/** Every agent of a survey. */
const agentsOf = (survey: Run): ReadonlyArray<Run> => [survey, ...Object.values(survey.children).flatMap(agentsOf)]

/** A folder of many files next to a small module. */
const flat = (folder: string, count: number): Files => ({
  "src/index.ts": "export const a = 1\n",
  ...Object.fromEntries(
    Array.from({ length: count }, (_, i) => [`${folder}note${String(i).padStart(4, "0")}.md`, "# Note\n"])
  )
})

describe("a project of very many folders", () => {
  it.effect.each([
    ["", "index.ts", "export const a = 1\n"],
    ["packages/", "package.json", "{}\n"]
  ])(
    "is surveyed by few subagents, and all of its files are counted: %s…/%s",
    ([parent, name, content]) =>
      Effect.gen(function*() {
        const files = Object.fromEntries(Array.from({ length: 400 }, (_, i) => [`${parent}d${i}/${name}`, content]))
        const survey = yield* run(files, "Survey this project.")
        expect(Object.keys(survey.children).length).toBeLessThan(60)
        expect(survey.text).toContain("120 modules, 400 files, 400 lines")
        expect(survey.text).not.toContain("not surveyed")
      })
  )
})

describe("a folder with the name ~", () => {
  it.effect("is surveyed as a folder of the project, and not as the home directory", () =>
    Effect.gen(function*() {
      const survey = yield* run({ "~/index.ts": "export {}\n", "b/index.ts": "export {}\n" }, "Survey this project.")
      const paths = agentsOf(survey).flatMap(({ steps }) => steps.flat())
        .flatMap(({ input }) => [input["path"], input["filePath"]]).map(String)
      expect(paths.some((path) => path.startsWith("./~"))).toBe(true)
      expect(paths.filter((path) => path.startsWith("~"))).toEqual([])
    }))
})

describe("a file that may contain secrets", () => {
  it.effect("is not read, because that needs a person's permission", () =>
    Effect.gen(function*() {
      const files = {
        "a/index.ts": "export {}\n",
        "b/test.env.ts": "export {}\n",
        "c/.env.local/index.ts": "export {}\n"
      }
      const survey = yield* run(files, "Survey this project.")
      const reads = agentsOf(survey).flatMap(({ steps }) => steps.flat()).filter(({ name }) => name === "read")
      expect(reads.map(({ input }) => input["filePath"])).toEqual(["a/index.ts"])
    }))
})

describe("a folder with more files than a tool shows", () => {
  const folders: Readonly<Record<string, Files>> = {
    "one folder of 1,017": flat("notes/", 1_017),
    "one folder of 5,000": flat("notes/", 5_000),
    "the top with 1,017": flat("", 1_017),
    "a deep one of 1,500": flat("a/b/c/d/e/notes/", 1_500),
    "several": { ...flat("a/x/", 1_100), ...flat("a/y/", 1_100), ...flat("a/", 1_100), ...flat("b/", 1_100) }
  }
  const offered: Readonly<Record<string, Options>> = {
    "all tools": {},
    "no tasks": { tools: ["glob", "grep", "list", "read"] }
  }
  for (const [name, files] of Object.entries(folders)) {
    for (const [tools, options] of Object.entries(offered)) {
      it.effect(`is surveyed without repeating a call, and reports what was left out: ${name}, ${tools}`, () =>
        Effect.gen(function*() {
          const survey = yield* run(files, "Survey this project.", options)
          for (const { steps } of agentsOf(survey)) {
            const calls = steps.flat().map((call) => JSON.stringify(call))
            expect(calls.filter((call, at) => calls.indexOf(call) !== at)).toEqual([])
          }
          expect(survey.text).not.toContain("not surveyed")
          const isWhole = survey.text.includes(`${Object.keys(files).length.toLocaleString("en-US")} files`)
          expect(isWhole || survey.text.includes("Not covered")).toBe(true)
        }))
    }
  }
})

describe("a folder that holds packages and files of its own", () => {
  it.effect("is listed whole, however many packages are below it", () =>
    Effect.gen(function*() {
      const files = {
        "go.mod": "module a\n",
        ...Object.fromEntries(
          Array.from({ length: 1_100 }, (_, i) => [`area/f${i % 7}/note${String(i).padStart(4, "0")}.md`, "# Note\n"])
        ),
        ...Object.fromEntries(
          Array.from({ length: 3 }, (_, i) => [`area/p${i}/package.json`, "{}\n"])
        )
      }
      expect((yield* run(files, "Survey this project.")).text).toContain("1,104 files")
    }))
})

describe("the introduction of a project", () => {
  it.effect.each([
    ["a notice in bold", "**Notice:** this repository has moved.\n\nLaunches rockets."],
    ["a notice of GitHub", "> [!WARNING]\n> Do not use this.\n\nLaunches rockets."],
    ["a URL", "https://example.com/badge.svg\n\nLaunches rockets."],
    ["a URL in brackets", "<https://example.com>\n\nLaunches rockets."],
    ["badges over several lines", "[![a](https://e.com/a.svg)](https://e.com)\n[![b](b.svg)][b]\n\nLaunches rockets."],
    [
      "a badge of reStructuredText",
      ".. image:: https://e.com/a.svg\n   :target: https://e.com\n   :alt: Build\n\nLaunches rockets."
    ],
    ["that it was archived", "This project is no longer maintained.\n\nLaunches rockets."],
    ["a warning sign", "⚠️ This is alpha software.\n\nLaunches rockets."]
  ])("is not %s", ([, readme]) =>
    Effect.map(
      report({ "README.md": `# Acme\n\n${readme}\n`, "index.js": "export {}\n" }),
      (text) => expect(text).toContain("\n# Acme\n\nLaunches rockets. (README.md:")
    ))
})

describe("tools with truncated output", () => {
  it.effect("are called again in portions, so that nothing is missing", () =>
    Effect.gen(function*() {
      const whole = yield* report(large)
      expect(whole).not.toContain("Not covered")
      expect(whole).toContain("Open TODO and FIXME: 4")
      expect(arrows(whole)).toContain("-> src/beta/* 20x src/alpha/even/file0.ts:1")
      expect(yield* report(large, { limit: 45 })).toBe(whole)
    }))

  it.effect("are reported as incomplete if smaller calls are impossible", () =>
    Effect.map(
      report(large, { limit: 4 }),
      (text) => expect(section(text, "Not covered").join("\n")).toMatch(/there is more than was counted/)
    ))
})
