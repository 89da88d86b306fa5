import { Session } from "@skein/core/Session"
import * as Skein from "@skein/core/Skein"
import * as OpenAi from "@skein/provider/OpenAi"
import * as NodeTools from "@skein/tools/NodeTools"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"

const program = Effect.gen(function*() {
  const session = yield* Session.create({ directory: process.cwd(), agent: "build" })
  const turn = yield* Session.prompt(session.id, "Where is the CLI entry?")
  yield* Console.log(turn.text)
}).pipe(Effect.provide(Skein.layer({ provider: OpenAi.layer, tools: NodeTools.tools })))

await Effect.runPromise(program)
