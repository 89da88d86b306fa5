import { expect, it } from "@effect/vitest"
import { Session } from "@skein/core/Session"
import { SessionStorage } from "@skein/core/SessionStorage"
import type { SessionID } from "@skein/domain/Id"
import * as Scripted from "@skein/testing/ScriptedProvider"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { run, stack } from "./support/sharedStorage.ts"
import { root } from "./support/tree.ts"

it("the messages of new sessions are not read: nothing of them is stored", () => {
  run((inner) =>
    Effect.gen(function*() {
      const read: Array<SessionID> = []
      const storage = Layer.succeed(SessionStorage, {
        ...inner,
        messages: (id) => {
          read.push(id)
          return inner.messages(id)
        }
      })
      const task = { tool: "task", input: { description: "part", prompt: "Do it", subagent_type: "worker" } }
      const script = Scripted.make({
        build: ({ messages }) => messages.some(({ role }) => role === "tool") ? "done" : { calls: [task, task] },
        worker: () => "made"
      })
      const services = yield* stack(script, storage)
      yield* Effect.gen(function*() {
        const { id } = yield* root()
        expect((yield* Session.prompt(id, "Go")).text).toBe("done")
        expect(read).toEqual([])
      }).pipe(Effect.provide(services))
    })
  )
})
