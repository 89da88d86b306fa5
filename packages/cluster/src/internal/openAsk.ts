/** Finds a question in the journal, also while no runner waits for its answer. */
import { SessionStorage } from "@skein/core/SessionStorage"
import type { StorageError } from "@skein/core/StorageError"
import type { Event } from "@skein/domain/Event"
import * as Effect from "effect/Effect"

const types = ["permission.asked", "permission.replied", "question.asked", "question.replied"] as const

const isOf = (id: string) => (event: Event): boolean => "id" in event.properties && event.properties.id === id

/** The state of the question with this id, if a tree with unfinished work has asked it. */
export const askState = (id: string): Effect.Effect<"open" | "answered" | undefined, StorageError, SessionStorage> =>
  Effect.gen(function*() {
    const storage = yield* SessionStorage
    for (const rootID of yield* storage.unfinished) {
      const logged = yield* storage.events({ after: 0, rootID, types })
      const last = logged.map(({ event }) => event).filter(isOf(id)).at(-1)
      if (last !== undefined) return last.type.endsWith(".asked") ? "open" : "answered"
    }
    return undefined
  })
