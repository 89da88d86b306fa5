/** Proves the backend in this process, also beside another process on the same storage. */
import { expect, it } from "@effect/vitest"
import { Backend } from "@skein/backend/Backend"
import * as LocalBackend from "@skein/backend/LocalBackend"
import { SessionStorage } from "@skein/core/SessionStorage"
import type { Event } from "@skein/domain/Event"
import * as SkeinTest from "@skein/testing/SkeinTest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Queue from "effect/Queue"
import { conformance } from "./support/conformance.ts"

conformance(
  "LocalBackend",
  (scripts, options) => Layer.provide(LocalBackend.layer(), SkeinTest.layer(scripts, { asks: "person", ...options }))
)

it.live("a session that was made here shows what another process does in it, and that it deletes it", () =>
  Effect.gen(function*() {
    const storage = Layer.succeed(
      SessionStorage,
      Context.get(yield* Layer.build(SessionStorage.layerMemory), SessionStorage)
    )
    const process = Effect.map(
      Layer.build(Layer.fresh(Layer.provide(
        LocalBackend.layer(),
        SkeinTest.layer({ build: ["said by the other"] }, { asks: "person", storage })
      ))),
      Context.get(Backend)
    )
    const [here, other] = [yield* process, yield* process]
    const heard = yield* Queue.unbounded<Event>()
    const { id } = yield* here.watch.made(here.sessions.create({ directory: "/", title: "T" }), {
      event: (event) => void Queue.unsafeOffer(heard, event)
    })
    const until = (fits: (event: Event) => boolean) => Effect.repeat(Queue.take(heard), { until: fits })
    yield* here.sessions.leave(id)
    const { turn } = yield* other.sessions.prompt(id, { words: "Go" })
    yield* turn
    yield* until((event) => JSON.stringify(event.properties).includes("said by the other"))
    yield* other.sessions.remove(id)
    const { rootID, type } = yield* until((event) => event.type === "session.deleted")
    expect({ rootID, type }).toEqual({ rootID: id, type: "session.deleted" })
    expect((yield* Queue.takeAll(heard)).length).toBe(0)
  }).pipe(Effect.scoped))
