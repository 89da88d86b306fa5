import { Agent, builtins } from "@skein/core/Agent"
import { Bus } from "@skein/core/Bus"
import { Permission } from "@skein/core/Permission"
import { Session } from "@skein/core/Session"
import * as Skein from "@skein/core/Skein"
import * as OpenAi from "@skein/provider/OpenAi"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"

/** A layer on top of the others: it listens on the bus, and answers every question with no. */
const refuseAll = Layer.scopedDiscard(Effect.gen(function*() {
  const bus = yield* Bus
  const permission = yield* Permission
  const questions = yield* bus.subscribe({ all: true, deltas: false })
  yield* Effect.forkScoped(Stream.runForEach(questions, (event) =>
    event.type === "permission.asked"
      ? permission.reply(event.properties.id, "reject", { message: "Nothing is allowed that needs a question." })
      : Effect.void))
}))

/** Agent, Session, Bus, Permission and Provider, and all that they need. */
const services = Layer.provideMerge(
  refuseAll,
  Skein.layer({ provider: OpenAi.layer, agents: Agent.layer(builtins), permission: { asks: "person" } })
)

export const ask = (question: string) =>
  Effect.gen(function*() {
    const session = yield* Session
    const { id } = yield* session.create({ directory: ".", agent: "explore" })
    return (yield* session.prompt(id, question)).text
  }).pipe(Effect.provide(services))
