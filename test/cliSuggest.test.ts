/** The built program proposes rules for what was allowed repeatedly. */
import { Bus } from "@skein/core/Bus"
import { Permission } from "@skein/core/Permission"
import { Session } from "@skein/core/Session"
import * as Sqlite from "@skein/storage/Sqlite"
import { call, make } from "@skein/testing/ScriptedProvider"
import { layer, tool } from "@skein/testing/SkeinTest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import { realpathSync } from "node:fs"
import { join } from "node:path"
import { expect, it } from "vitest"
import { atEnd } from "./support/atEnd.ts"
import { sandbox } from "./support/cli.ts"

/** A tool that asks, as `bash` does, and offers the given rule. */
const shell = tool("bash", () => Effect.succeed("done"), {
  authorise: ({ command, rule }) =>
    Effect.succeed([{
      permission: "bash",
      patterns: [String(command)],
      exact: [],
      always: rule === undefined ? [] : [String(rule)],
      metadata: {}
    }])
})

const runs = [
  { command: "npx vitest run a", rule: "npx vitest run *" },
  { command: "npx vitest run b", rule: "npx vitest run *" },
  { command: "npx vitest run c", rule: "npx vitest run *" },
  { command: "make a", rule: "make *" },
  { command: "make b", rule: "make *" },
  { command: "rm a", rule: "rm *" },
  { command: "rm b", rule: "rm *" },
  { command: "rm no", rule: "rm *" }
]

it("a call that was allowed three times by hand becomes a proposed rule, and a refused one does not", async () => {
  const place = sandbox()
  atEnd(place.remove)
  const database = join(place.home, "asked.db")
  const directory = realpathSync(place.project)
  await Effect.gen(function*() {
    const bus = yield* Bus
    const { id } = yield* Session.create({ directory, projectID: directory, agent: "build" })
    const events = yield* bus.subscribe({ rootID: id, deltas: false })
    yield* Effect.forkScoped(Stream.runForEach(events, (event) =>
      event.type === "permission.asked"
        ? Effect.orDie(
          Permission.reply(event.properties.id, event.properties.patterns.includes("rm no") ? "reject" : "once", {
            message: "so"
          })
        )
        : Effect.void))
    yield* Session.prompt(id, "go")
  }).pipe(
    Effect.scoped,
    Effect.provide(
      layer(make({ build: [...runs.map((run) => call("bash", run)), "Done."] }), {
        tools: [shell],
        asks: "person",
        storage: Layer.orDie(Sqlite.layer({ filename: database }))
      })
    ),
    Effect.runPromise
  )
  const { code, stdout } = await place.run(["permissions", "suggest", "--db", database])
  expect(code).toBe(0)
  expect(stdout).toMatch(/^3\s+bash\s+npx vitest run \*$/m)
  expect(stdout).toContain("\"npx vitest run *\": \"allow\"")
  expect(stdout).not.toMatch(/make|rm \*/)
  const listed = await place.run(["permissions", "suggest", "--db", database, "--format", "json"])
  expect(JSON.parse(listed.stdout)).toEqual([{ permission: "bash", pattern: "npx vitest run *", times: 3 }])
})
