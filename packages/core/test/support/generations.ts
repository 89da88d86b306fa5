/** Processes one after the other on the same storage, each of which may die at a time or at a commit. */
import { Session } from "@skein/core/Session"
import type { SessionID } from "@skein/domain/Id"
import * as Scripted from "@skein/testing/ScriptedProvider"
import * as SkeinTest from "@skein/testing/SkeinTest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { type Death, lastingStorage, lonely, process } from "./mortal.ts"
import { simulate } from "./simulate.ts"

type Services = Layer.Layer.Success<ReturnType<typeof SkeinTest.layer>>

/** One of the processes. */
export interface Generation {
  readonly scripts: Parameters<typeof Scripted.make>[0]
  readonly options: SkeinTest.SkeinTestOptions
  /** After how many milliseconds or at which commit it dies; it comes to its end where absent. */
  readonly dies?: number | Death
  readonly program: (id: SessionID, script: Scripted.Scripted) => Effect.Effect<unknown, unknown, Services>
}

/** The first begins a tree, the others are given its root. */
export const generations = (
  first: Omit<Generation, "program"> & {
    readonly program: Effect.Effect<unknown, unknown, Services>
  },
  ...others: ReadonlyArray<Generation>
): void => {
  const all: ReadonlyArray<Generation> = [{ ...first, program: () => first.program }, ...others]
  const program = Effect.gen(function*() {
    const inner = yield* lastingStorage
    for (const [n, { dies, options, program: work, scripts }] of all.entries()) {
      yield* process(inner, typeof dies === "number" ? "by hand" : dies, (life, storage) =>
        Effect.gen(function*() {
          const script = Scripted.make(scripts)
          const layer = SkeinTest.layer(script, { ...options, storage, owner: lonely(`process ${n}`) })
          const context = yield* Layer.build(layer)
          const main = Effect.provide(
            Effect.gen(function*() {
              const [info] = (yield* Effect.flatMap(Session, (session) => session.list())).rows
              // What died before anything was stored has left nothing to go on with.
              if (n > 0 && info === undefined) return
              yield* work(info?.id ?? "ses_" as SessionID, script)
            }),
            context
          )
          if (typeof dies !== "number") return yield* main
          yield* Effect.forkScoped(main)
          yield* Effect.sleep(dies)
          return yield* life.die
        }))
    }
  })
  simulate(Effect.scoped(program), { seed: 1 })
}

/** Takes a tree up, and waits for what comes of that. */
export const resumed = Effect.fnUntraced(function*(id: SessionID) {
  const session = yield* Session
  yield* session.resume(id)
  const turn = yield* session.untilIdle(id)
  yield* Effect.sleep(1_000)
  return turn
})
