/** Proves that the number of parts of a prompt is bounded. */
import { expect, it } from "@effect/vitest"
import { Session } from "@skein/core/Session"
import { SessionStorage } from "@skein/core/SessionStorage"
import { mostParts, type PartInput } from "@skein/domain/Part"
import * as Scripted from "@skein/testing/ScriptedProvider"
import * as SkeinTest from "@skein/testing/SkeinTest"
import * as Effect from "effect/Effect"
import { messagesOf, root } from "./support/tree.ts"

const parts = (count: number): ReadonlyArray<PartInput> =>
  Array.from({ length: count }, () => ({ type: "text", text: "x" }))

it.effect("refuses a prompt with too many parts, and stores nothing of it", () =>
  Effect.gen(function*() {
    const storage = yield* SessionStorage
    const { id } = yield* root()
    const error = yield* Effect.flip(Session.prompt(id, parts(mostParts + 1)))
    expect(error).toMatchObject({ _tag: "PromptInvalid", message: expect.stringContaining("the limit is 1000") })
    expect((yield* Effect.flip((yield* Session).append(id, parts(mostParts + 1))))._tag).toBe("PromptInvalid")
    expect((yield* storage.inbox(id)).rows).toEqual([])
    yield* Session.prompt(id, parts(mostParts))
    expect((yield* messagesOf(id))[0]?.parts).toHaveLength(mostParts)
  }).pipe(Effect.provide(SkeinTest.layer(Scripted.make({ build: ["ok"] })))))
