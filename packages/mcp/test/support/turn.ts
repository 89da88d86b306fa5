/** A turn of an agent with the tools of servers. */
import { Session } from "@skein/core/Session"
import type { ToolSource } from "@skein/core/Tool"
import * as Scripted from "@skein/testing/ScriptedProvider"
import * as SkeinTest from "@skein/testing/SkeinTest"
import * as Effect from "effect/Effect"

/** The names of the tools that there are now. */
export const namesOf = (source: ToolSource) => source.current().map((tool) => tool.name)

/** A turn whose model makes these calls, one a step; what it was offered, and what it was told. */
export const turn = (
  source: ToolSource,
  steps: ReadonlyArray<Scripted.ScriptedStep>,
  options: SkeinTest.SkeinTestOptions = {}
) =>
  Effect.gen(function*() {
    const script = Scripted.make({ build: [...steps, "done"], plan: [...steps, "done"] })
    yield* Effect.gen(function*() {
      const session = yield* Session
      const agent = options.agents?.[0]?.name ?? "build"
      const { id } = yield* session.create({
        directory: "/tmp",
        title: "Test",
        agent,
        model: { providerID: "scripted", modelID: "model" }
      })
      yield* session.prompt(id, "Go")
    }).pipe(Effect.provide(SkeinTest.layer(script, { rules: { "mcp_*": "allow" }, toolSource: source, ...options })))
    return {
      requests: script.requests,
      offered: script.requests.map(({ tools }) =>
        tools.map(({ name }) => name).filter((name) => name.startsWith("mcp_"))
      ),
      told: script.requests.at(-1)?.messages.flatMap((message) => message.role === "tool" ? message.content : [])
        .map(({ output }) => output.value) ?? []
    }
  })
