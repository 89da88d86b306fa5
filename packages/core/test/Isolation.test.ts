import { describe, expect, it } from "@effect/vitest"
import { Isolation } from "@skein/core/Isolation"
import type { SessionID } from "@skein/domain/Id"
import * as Effect from "effect/Effect"

describe("isolation without a provider", () => {
  it.effect("is refused, with what it needs, and leaves nothing behind", () =>
    Effect.gen(function*() {
      const { list, open } = yield* Isolation
      const taskID = "ses_1" as SessionID
      const refused = yield* Effect.flip(open({ directory: "/", taskID, description: "task" }))
      expect(refused.reason).toBe("unavailable")
      expect(refused.message).toContain("Leave `isolation` out")
      expect(yield* list).toEqual([])
    }).pipe(Effect.provide(Isolation.layerNone)))
})
