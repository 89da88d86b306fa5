import { describe, expect, it } from "@effect/vitest"
import type { CallToolResult } from "@modelcontextprotocol/client"
import { SessionStorage } from "@skein/core/SessionStorage"
import * as Scripted from "@skein/testing/ScriptedProvider"
import * as SkeinTest from "@skein/testing/SkeinTest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import { makeEndpoint, ways } from "./support/clients.ts"

const textOf = (result: unknown): string =>
  (result as CallToolResult).content.map((part) => part.type === "text" ? part.text : "").join("\n")

const asking = SkeinTest.tool("edit", () => Effect.succeed("edited"), {
  authorise: () =>
    Effect.succeed([{ permission: "edit", patterns: ["a.ts"], always: ["*"], metadata: { path: "a.ts" } }])
})

describe.each(ways)("over $over by $revision", (way) => {
  const options = { name: "task", arguments: { agent: "worker", prompt: "Find the entry", directory: "/project" } }

  it.scopedLive("delegates a task, and gives its conclusion as the task tool does", () =>
    Effect.gen(function*() {
      const { connect } = yield* makeEndpoint
      const { client } = yield* connect(way)
      const result = yield* Effect.promise(() => client.callTool(options))
      expect(textOf(result)).toMatch(
        /^task_id: ses_\w+ \(for resuming to continue this task if needed\)\n\n<task_result>\nIt is main.ts\n<\/task_result>$/
      )
      expect(result.isError).toBeUndefined()
    }).pipe(Effect.provide(SkeinTest.layer({ worker: ["It is main.ts"] }, { agents: [SkeinTest.agent("worker")] }))))

  it.scopedLive("asks the client what an agent at depth 2 asks, with the way to it", () =>
    Effect.gen(function*() {
      const { connect } = yield* makeEndpoint
      const messages: Array<string> = []
      const { client } = yield* connect(way, ({ message }) => {
        messages.push(message)
        return { action: "accept", content: { answer: "once" } }
      })
      const result = yield* Effect.promise(() => client.callTool(options))
      expect(messages).toHaveLength(1)
      expect(messages[0]).toContain("build > worker > editor asks for permission: edit")
      expect(messages[0]).toContain("a.ts")
      expect(textOf(result)).toContain("<task_result>\nIt is edited")
    }).pipe(Effect.provide(SkeinTest.layer({
      worker: [Scripted.tasks({ editor: "Edit it" }), "It is edited"],
      editor: [Scripted.call("edit", {}), "Edited"]
    }, {
      agents: [SkeinTest.agent("worker", { permission: { task: "allow" } }), SkeinTest.agent("editor")],
      tools: [asking]
    }))))

  it.scopedLive("denies what is asked where the client has no forms", () =>
    Effect.gen(function*() {
      const { connect } = yield* makeEndpoint
      const { client } = yield* connect(way)
      const result = yield* Effect.promise(() => client.callTool(options))
      expect(textOf(result)).toContain("<task_result>\nNot permitted")
    }).pipe(Effect.provide(SkeinTest.layer({ worker: [Scripted.call("edit", {}), "Not permitted"] }, {
      agents: [SkeinTest.agent("worker")],
      tools: [asking]
    }))))

  it.scopedLive("ends the run of a call that is cancelled", () =>
    Effect.gen(function*() {
      const begun = yield* Deferred.make<void>()
      const ended = yield* Deferred.make<void>()
      const hangs = SkeinTest.tool("hangs", () =>
        Effect.zipRight(Deferred.succeed(begun, undefined), Effect.never).pipe(
          Effect.onInterrupt(() => Deferred.succeed(ended, undefined))
        ))
      yield* Effect.gen(function*() {
        const { connect } = yield* makeEndpoint
        const { client } = yield* connect(way)
        const abort = new AbortController()
        const call = client.callTool(options, { signal: abort.signal }).catch(() => "cancelled")
        yield* Deferred.await(begun)
        abort.abort()
        yield* Deferred.await(ended)
        expect(yield* Effect.promise(() => call)).toBe("cancelled")
        const { rows } = yield* (yield* SessionStorage).sessions({})
        expect(rows).toHaveLength(2)
      }).pipe(Effect.provide(SkeinTest.layer({ worker: [Scripted.call("hangs", {})] }, {
        agents: [SkeinTest.agent("worker")],
        tools: [hangs],
        rules: { hangs: "allow" }
      })))
    }))
})
