/** Owns which free trees a runner leaves to others, because it lacks a model of them, and says so if none has it. */
import type { SessionID } from "@skein/domain/Id"
import * as Effect from "effect/Effect"
import type { Failures } from "./failures.ts"

/** After how many looks it is said that nobody has the model of a tree: runners that have it may be at their limit. */
const grace = 12

/** In how many looks that is said again. */
const reminder = 8

/** Makes it. */
export const makeLacking = ({ lack }: Pick<Failures, "lack">) => {
  const known = new Map<SessionID, string>()
  const told = new Set<SessionID>()
  let count = 0

  const log = (rootID: SessionID, cause: string) =>
    Effect.suspend(() => {
      if (told.has(rootID)) return Effect.void
      told.add(rootID)
      return Effect.logWarning(`${rootID} is left to servers that have its model`, cause)
    })

  return {
    /** Notes that this runner lacks a model of a tree. */
    note: (rootID: SessionID, cause: string): Effect.Effect<void> => {
      known.set(rootID, cause)
      return log(rootID, cause)
    },
    /** Notes that it has all of them. */
    over: (rootID: SessionID): void => {
      known.delete(rootID)
      told.delete(rootID)
    },
    /** After a look that found these trees free, each for so many looks. */
    tell: (free: ReadonlyMap<SessionID, { readonly looks: number }>): Effect.Effect<void> =>
      Effect.suspend(() => {
        for (const rootID of known.keys()) if (!free.has(rootID)) known.delete(rootID)
        count++
        return count % reminder === 0
          ? lack(new Map([...known].filter(([rootID]) => (free.get(rootID)?.looks ?? 0) > grace)))
          : Effect.void
      })
  }
}
