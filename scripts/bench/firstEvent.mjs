// @ts-check
import { Bus } from "@skein/core/Bus"
import { Session } from "@skein/core/Session"
import * as Effect from "effect/Effect"

/**
 * How long a prompt in this process takes to its first event, in milliseconds.
 * @param {import("@skein/domain/Id").SessionID} id
 */
export const firstEvent = (id) =>
  Effect.scoped(Effect.gen(function*() {
    const bus = yield* Bus
    const session = yield* Session
    let first = 0
    yield* bus.listen({ rootID: id }, () => first ||= performance.now())
    const began = performance.now()
    yield* session.prompt(id, "Go")
    return first - began
  }))
