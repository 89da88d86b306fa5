/** Finds a question in the journal, also while no runner waits for its answer. */
import { SessionStorage } from "@skein/core/SessionStorage"
import type { StorageError } from "@skein/core/StorageError"
import type { Event } from "@skein/domain/Event"
import type { SessionID } from "@skein/domain/Id"
import * as Effect from "effect/Effect"

const types = ["permission.asked", "permission.replied", "question.asked", "question.replied"] as const

const isOf = (id: string) => (event: Event): boolean => "id" in event.properties && event.properties.id === id

/** Whether a tree has asked the question with this id. */
export const isAskedIn = (rootID: SessionID, id: string): Effect.Effect<boolean, StorageError, SessionStorage> =>
  Effect.gen(function*() {
    const storage = yield* SessionStorage
    const logged = yield* storage.events({ after: 0, rootID, types: ["permission.asked", "question.asked"] })
    return logged.some(({ event }) => isOf(id)(event))
  })

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
