/** Reads a whole tree of sessions as it stands now. */
import { Permission } from "@skein/core/Permission"
import { Question } from "@skein/core/Question"
import { SessionStorage } from "@skein/core/SessionStorage"
import type { SessionID } from "@skein/domain/Id"
import * as Effect from "effect/Effect"
import type { Ask, TreeSnapshot } from "../../Watching.ts"
import { listed } from "./find.ts"

/** The questions that wait, of one tree or of all: those for permission first, each kind oldest first. */
export const pendingAsks = (rootID?: SessionID): Effect.Effect<ReadonlyArray<Ask>, never, Permission | Question> =>
  Effect.gen(function*() {
    const permissions = yield* Effect.flatMap(Permission, (permission) => permission.pending(rootID))
    const questions = yield* Effect.flatMap(Question, (question) => question.pending(rootID))
    return [
      ...permissions.map((each): Ask => ({ type: "permission", ...each })),
      ...questions.map((each): Ask => ({ type: "question", ...each }))
    ]
  })

/** What comes after its `seq` may already be in it, and does no harm when it comes. */
export const snapshotOf = Effect.fnUntraced(function*(rootID: SessionID) {
  const storage = yield* SessionStorage
  const { last: seq } = yield* storage.eventRange(rootID)
  const { rows } = yield* storage.sessions({ rootID })
  const sessions = rows.toSorted((a, b) => a.depth - b.depth || (a.id < b.id ? -1 : 1))
  return {
    rootID,
    seq,
    sessions: yield* Effect.forEach(sessions, listed),
    tasks: (yield* storage.runs({ rootID })).rows,
    asks: yield* pendingAsks(rootID)
  } satisfies TreeSnapshot
})
