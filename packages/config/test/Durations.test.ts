import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import { expect, layer } from "@effect/vitest"
import { jsonSchema } from "@skein/config/ConfigSchema"
import * as Effect from "effect/Effect"
import { loadFiles, mistakes, userFile } from "./workspace.ts"

const minutes = 60_000

layer(NodeFileSystem.layer)("durations in config", (it) => {
  it.scoped("are milliseconds, or text such as 30m, for every time", () =>
    Effect.gen(function*() {
      const { settings } = yield* loadFiles({
        [userFile]: {
          deadlines: { connect: "30s", first_event: "10m", idle: 5_000 },
          retry: { base: "500ms", max_delay: "1.5m", max_retry_after: "1h" },
          budget: { time: "2h" },
          agent: { a: { timeout: "30m", budget: { time: "20m" } } },
          hooks: { Stop: [{ command: "true", timeout: "10s" }] }
        },
        ".skein/agents/b.md": "---\ntimeout: 5m\n---\nWork."
      })
      expect(settings).toMatchObject({
        deadlines: { connect: 30_000, first_event: 10 * minutes, idle: 5_000 },
        retry: { base: 500, max_delay: 90_000, max_retry_after: 60 * minutes },
        budget: { time: 120 * minutes },
        agent: { a: { timeout: 30 * minutes, budget: { time: 20 * minutes } } },
        hooks: { Stop: [{ command: "true", timeout: 10_000 }] }
      })
    }))

  it.scoped("of a project only lower the user's, in any notation", () =>
    Effect.gen(function*() {
      const { settings, warnings } = yield* loadFiles({
        [userFile]: { budget: { time: "30m" } },
        "project/skein.json": { budget: { time: "2h" } }
      })
      expect(settings.budget).toEqual({ time: 30 * minutes })
      expect(warnings).toEqual([expect.objectContaining({ key: "budget.time", line: 3 })])
      const lower = yield* loadFiles({
        [userFile]: { budget: { time: "30m" } },
        "project/skein.json": { budget: { time: "90s" } }
      })
      expect(lower.settings.budget).toEqual({ time: 90_000 })
    }))

  it.scoped("that are invalid are errors with file and line", () =>
    Effect.gen(function*() {
      const issues = yield* mistakes({
        "project/skein.json":
          "{\n\"deadlines\": {\n\"connect\": 0,\n\"first_event\": \"soon\",\n\"idle\": \"5\"\n},\n\"budget\": { \"time\": true },\n\"agent\": { \"a\": { \"timeout\": \"900h\" } }\n}"
      })
      const must = (key: string, place: string, found: string) =>
        `project/skein.json:${place} ${key} must be a whole number of milliseconds or a time such as "90s" or "30m", at most 24 days, found ${found}`
      expect(issues).toEqual([
        must("deadlines.connect", "3:12", "0"),
        must("deadlines.first_event", "4:16", "\"soon\""),
        must("deadlines.idle", "5:9", "\"5\""),
        must("budget.time", "7:21", "true"),
        must("agent.a.timeout", "8:30", "\"900h\"")
      ])
    }))

  it.effect("are described to editors as a number or text", () =>
    Effect.gen(function*() {
      const { properties } = yield* jsonSchema
      const { anyOf, description } = Object(properties).deadlines.properties.idle
      expect(description).toContain("\"30m\"")
      expect(anyOf).toEqual([
        expect.objectContaining({ type: "integer", minimum: 1 }),
        expect.objectContaining({ type: "string" })
      ])
    }))
})
