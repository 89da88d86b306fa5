/** Tests real files of other tools: test/fixtures has them by dialect, and the results in `expected`. */
import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import { expect, layer } from "@effect/vitest"
import { agentsFrom } from "@skein/config/AgentsConfig"
import { builtins } from "@skein/core/Agent"
import type { Rule } from "@skein/domain/Rule"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import { readdirSync, readFileSync } from "node:fs"
import { extname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { formatIssue, loadFiles, type workspace } from "./workspace.ts"

const fixtures = fileURLToPath(new URL("fixtures", import.meta.url))

const homes = {
  skein: "project/.skein/agent",
  opencode: "project/.opencode/agents",
  claude: "project/.claude/agents"
} as const

const filesIn = (directory: string): ReadonlyArray<string> =>
  readdirSync(join(fixtures, directory), { recursive: true, encoding: "utf8" })
    .filter((name) => /\.(?:md|jsonc?)$/.test(name)).toSorted()

const read = (files: Parameters<typeof workspace>[0]) =>
  Effect.map(loadFiles(files, { providers: ["openai"] }), ({ origins, root, settings, warnings }) => {
    // The result must also be valid for agents.
    Either.getOrThrow(agentsFrom(settings, builtins, origins))
    return {
      settings,
      warnings: warnings.map((issue) => formatIssue(root, issue).replace(/; (?:it may be trusted|put it into).*$/, "")),
      root
    }
  })

/** Rules, one per line. */
const brief = (value: unknown): unknown =>
  Array.isArray(value) && value.length > 0 && value.every(isRule)
    ? value.map(({ action, pattern, permission }) => `${action} ${permission} ${pattern}`)
    : typeof value === "object" && value !== null && !Array.isArray(value)
    ? Object.fromEntries(Object.entries(value).map(([key, each]) => [key, brief(each)]))
    : value

const isRule = (value: unknown): value is Rule => typeof value === "object" && value !== null && "permission" in value

const expected = (name: string): unknown => JSON.parse(readFileSync(join(fixtures, "expected", `${name}.json`), "utf8"))

layer(NodeFileSystem.layer)("the corpus", (it) => {
  it.scoped.each(["skein", "opencode", "claude"] as const)(
    "of agents for %s is read as expected",
    (dialect) =>
      Effect.gen(function*() {
        const names = filesIn(dialect)
        expect(names.length).toBeGreaterThanOrEqual(30)
        const { settings, warnings } = yield* read(
          Object.fromEntries(
            names.map((name) => [`${homes[dialect]}/${name}`, readFileSync(join(fixtures, dialect, name), "utf8")])
          )
        )
        const found = {
          agents: brief(settings.agent),
          warnings: warnings.map((line) => line.replace(`${homes[dialect]}/`, ""))
        }
        expect(found).toEqual(expected(dialect))
      })
  )

  it.scoped.each(filesIn("opencode-json"))(
    "of opencode.json is read as expected: %s",
    (name) =>
      Effect.gen(function*() {
        const text = readFileSync(join(fixtures, "opencode-json", name), "utf8")
        const { root, settings, warnings } = yield* read({ [`project/opencode${extname(name)}`]: text })
        const { agent, compaction, default_agent, instructions, model, permission, small_model } = settings
        const found = {
          settings: brief({
            agent,
            compaction,
            default_agent,
            instructions: instructions?.map((path) => path.replace(`${root}/project/`, "")),
            model,
            permission,
            small_model
          }),
          warnings
        }
        expect(JSON.parse(JSON.stringify(found))).toEqual(
          (expected("opencode-json") as Readonly<Record<string, unknown>>)[name]
        )
      })
  )

  it.scoped("is read the same with CRLF line ends and a byte order mark", () =>
    Effect.gen(function*() {
      for (const dialect of ["skein", "opencode", "claude"] as const) {
        const { settings } = yield* read(
          Object.fromEntries(
            filesIn(dialect).map((name) => [
              `${homes[dialect]}/${name}`,
              `\uFEFF${readFileSync(join(fixtures, dialect, name), "utf8").replaceAll("\n", "\r\n")}`
            ])
          )
        )
        expect(brief(settings.agent)).toEqual((expected(dialect) as { readonly agents: unknown }).agents)
      }
    }))
})
