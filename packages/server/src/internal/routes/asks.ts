/** Owns the questions that wait for people, as clients see them. */
import type { Ask } from "@skein/api/Output"
import { Permission } from "@skein/core/Permission"
import { Question } from "@skein/core/Question"
import type { SessionID } from "@skein/domain/Id"
import * as Effect from "effect/Effect"

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
