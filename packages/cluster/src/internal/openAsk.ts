/** Finds a question in the journal, also while no runner waits for its answer. */
import { SessionStorage } from "@skein/core/SessionStorage"
import type { StorageError } from "@skein/core/StorageError"
import type { Event } from "@skein/domain/Event"
import type { SessionID } from "@skein/domain/Id"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"

const types = ["permission.asked", "permission.replied", "question.asked", "question.replied"] as const

const isOf = (id: string) => (event: Event): boolean => "id" in event.properties && event.properties.id === id

/** Whether a tree has asked the question with this id. */
export const isAskedIn = (rootID: SessionID, id: string): Effect.Effect<boolean, StorageError, SessionStorage> =>
  Effect.gen(function*() {
    const storage = yield* SessionStorage
    const logged = yield* storage.events({ after: 0, rootID, types: ["permission.asked", "question.asked"] })
    return logged.some(({ event }) => isOf(id)(event))
  })

/** An answer as clients give it, whichever kind of question it is for. */
const Given = Schema.parseJson(Schema.Struct({
  answer: Schema.optional(Schema.String),
  answers: Schema.optional(Schema.Array(Schema.String)),
  dismiss: Schema.optional(Schema.Boolean)
}))

const decode = Schema.decodeUnknownOption(Given)

/** Whether a stored answer is the one in the body of a request. `always` may have been stored as `once`. */
const isGivenIn = (body: string) => (event: Event): boolean => {
  const given = Option.getOrUndefined(decode(body))
  if (given === undefined) return false
  if (event.type === "permission.replied") {
    const { reply, withdrawn } = event.properties
    return withdrawn !== true && (reply === given.answer || (given.answer === "always" && reply === "once"))
  }
  if (event.type !== "question.replied") return false
  const { answers, reply } = event.properties
  return given.dismiss === true
    ? reply === "dismissed"
    : reply === "answered" && JSON.stringify(answers) === JSON.stringify(given.answers)
}

/** The state of a question: `taken` if it has another answer than the given one. */
export type AskState = "open" | "answered" | "taken"

/** The state of the question with this id for an answer, if a tree with unfinished work has asked it. */
export const askState = (
  id: string,
  body: string
): Effect.Effect<AskState | undefined, StorageError, SessionStorage> =>
  Effect.gen(function*() {
    const storage = yield* SessionStorage
    for (const rootID of yield* storage.unfinished) {
      const logged = yield* storage.events({ after: 0, rootID, types })
      const last = logged.map(({ event }) => event).filter(isOf(id)).at(-1)
      if (last === undefined) continue
      if (last.type.endsWith(".asked")) return "open"
      return isGivenIn(body)(last) ? "answered" : "taken"
    }
    return undefined
  })
