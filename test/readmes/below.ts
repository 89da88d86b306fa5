import { Session } from "@skein/core/Session"
import * as Task from "@skein/core/Task"
import { define, ToolError, Tools } from "@skein/core/Tool"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"

const Files = Schema.Array(Schema.String)

/** A tool that asks two subagents in parallel, for values: `Layer.provideMerge(uses, Skein.layer({ provider }))`. */
export const uses = Layer.scopedDiscard(Effect.gen(function*() {
  const tools = yield* Tools
  const services = yield* Effect.context<Session>()
  yield* tools.register(define({
    name: "uses",
    describe: "Finds the files that call a function, and those that test it.",
    parameters: Schema.Struct({ name: Schema.String.annotations({ description: "The name of the function" }) }),
    effect: "safe",
    title: ({ name }) => name,
    authorise: () => Effect.succeed([]),
    execute: ({ name }, { sessionID }) => {
      const ask = (prompt: string) =>
        Task.run({ parentID: sessionID, agent: "explore", prompt, output: Files, timeout: 60_000 })
      return Effect.all({ calls: ask(`Which files call ${name}?`), tests: ask(`Which files test ${name}?`) }, {
        concurrency: "unbounded"
      }).pipe(
        Effect.map((found) => ({ title: name, output: JSON.stringify(found), metadata: found })),
        Effect.mapError(({ _tag, message }) => new ToolError({ kind: _tag, message })),
        Effect.provide(services)
      )
    }
  }))
}))
