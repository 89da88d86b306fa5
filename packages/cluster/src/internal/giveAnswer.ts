/** Gives the answer to a question to the runner that asks it, while its tree may move from one to another. */
import type { StorageError } from "@skein/core/StorageError"
import * as Arr from "effect/Array"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { AskState } from "./openAsk.ts"

/** How often an answer is given at most, and how long to wait before the next time: a takeover takes seconds. */
const most = 60
const pause = "300 millis"

/** What a runner says to it. */
interface Said {
  readonly status: number
}

/** Whether a runner says that it does not ask the question, or has lost its tree: the client may get that. */
const isKnown = ({ status }: Said): boolean => status === 404 || status === 409

/** Whether it does not take the answer. What else it says then is about itself, for example that it is about to stop. */
const isElsewhere = (said: Said): boolean => isKnown(said) || [401, 408].includes(said.status) || said.status >= 500

/**
 * How giving it ended: what a runner said, or that the answer is stored, that another one came first, or that no runner asks
 * the question now.
 */
export type Given<A extends Said> = { readonly said: A } | "stored" | "taken" | "nobody"

/** Gives it to all runners at once, this one first, until one of them takes it. */
export const giveAnswer = <A extends Said, R>({ everywhere, giveTo, state }: {
  readonly everywhere: Effect.Effect<Arr.NonEmptyReadonlyArray<string>>
  /** Gives it to one; undefined if it did not say anything in time. */
  readonly giveTo: (target: string) => Effect.Effect<A | undefined>
  /** What the journal says of the question. */
  readonly state: Effect.Effect<AskState | undefined, StorageError, R>
}): Effect.Effect<Given<A>, StorageError, R> => {
  /** Who has said that it took the answer, and did not: another program listens where a runner was. */
  const strangers = new Set<string>()
  const tryOnce = Effect.gen(function*() {
    let isSure = true
    let last: A | undefined
    const one = (target: string) =>
      Effect.flatMap(giveTo(target), (said) => {
        if (said !== undefined && !isElsewhere(said)) return Effect.succeed({ said, target })
        if (said !== undefined && isKnown(said)) last = said
        isSure &&= said?.status === 404
        return Effect.fail("elsewhere" as const)
      })
    const [own, ...others] = yield* everywhere
    const targets = [own, ...others.filter((target) => !strangers.has(target))]
    const taken = Option.getOrUndefined(yield* Effect.option(Effect.raceAll(targets.map(one))))
    return { taken, isOwn: taken?.target === own, last, isSure }
  })
  return Effect.gen(function*() {
    let mayHaveArrived = false
    for (let time = 0; time < most; time++) {
      const { isOwn, isSure, last, taken } = yield* tryOnce
      const now = yield* state
      // What is stored counts, and not what a server says that it took.
      if (now === "taken" && (taken === undefined || taken.said.status < 300)) {
        return last === undefined ? "taken" : { said: last }
      }
      // A question that is still open has not been answered. A refusal leaves it open.
      if (taken !== undefined && (isOwn || now !== "open" || taken.said.status >= 300)) return { said: taken.said }
      if (taken !== undefined) strangers.add(taken.target)
      mayHaveArrived ||= !isSure
      if (now === "answered" && mayHaveArrived) return "stored"
      if (now !== "open" && last !== undefined) return { said: last }
      yield* Effect.sleep(pause)
    }
    return "nobody"
  })
}
