/** Resolves a shortened id: every command takes a prefix that only one id has. */
import type { Backend } from "@skein/backend/Backend"
import { SessionStorage } from "@skein/core/SessionStorage"
import { notFound } from "@skein/core/Turn"
import type { SessionID } from "@skein/domain/Id"
import { escapeLine } from "@skein/tui/Escape"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { UsageError } from "../ExitCode.ts"

/** How many candidates an error lists. */
const listed = 5

/** How many ids to look for: one more than the list shows, to know whether there are more. */
const looked = listed + 1

/** At least one character after the kind: `ses_` alone names nothing. */
const mayBegin = /^[a-z]+_[0-9a-z]+$/

/** The id that a prefix means, from sorted candidates; undefined if there is none. */
const only = (given: string, ids: ReadonlyArray<string>): Effect.Effect<string | undefined, UsageError> => {
  const [first, second] = ids
  if (second === undefined || first === given) return Effect.succeed(first)
  const more = ids.length > listed ? " and more" : ""
  return new UsageError({
    message: `Several ids begin with ${escapeLine(given)}: ${
      ids.slice(0, listed).join(", ")
    }${more}. Write more of the one that you mean.`
  })
}

/** The id in a list that is meant. */
export const among = (given: string, ids: ReadonlyArray<string>): Effect.Effect<string | undefined, UsageError> =>
  mayBegin.test(given)
    ? only(given, ids.filter((id) => id.startsWith(given)).toSorted().slice(0, looked))
    : Effect.succeed(undefined)

/** The stored id that is meant. */
export const stored = (of: "sessions" | "tasks" | "runs", given: string) =>
  mayBegin.test(given)
    ? Effect.flatMap(SessionStorage, (store) => Effect.flatMap(store.ids(of, given, looked), (ids) => only(given, ids)))
    : Effect.succeed(undefined)

/** The session that is meant; fails if there is none. */
export const sessionOf = Effect.fnUntraced(function*(given: string) {
  const store = yield* SessionStorage
  const id = yield* stored("sessions", given)
  const found = id === undefined ? Option.none() : yield* store.session(id as SessionID)
  return Option.isSome(found) ? found.value : yield* notFound(given)
})

/** The same on a backend. */
export const sessionOn = Effect.fnUntraced(
  function*({ sessions }: Pick<typeof Backend.Service, "sessions">, given: string) {
    const id = mayBegin.test(given)
      ? yield* Effect.flatMap(sessions.ids("sessions", given, looked), (ids) => only(given, ids))
      : undefined
    return id === undefined ? yield* notFound(given) : yield* sessions.get(id as SessionID)
  }
)
