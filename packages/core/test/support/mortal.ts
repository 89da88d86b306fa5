/** Processes that die at a commit, before or after it is made, and their successors on the same storage. */
import { Owner } from "@skein/core/Owner"
import { SessionStorage, type Write } from "@skein/core/SessionStorage"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"

/** When a process dies: at its n-th commit, which is made or not. */
export interface Death {
  readonly at: number
  readonly made: boolean
}

/** The state of a dead process: nothing more of it runs. */
export interface Life {
  readonly isOver: () => boolean
  readonly die: Effect.Effect<never>
  /** Passes while the process lives. */
  readonly alive: <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
}

/** Storage that outlives the programs that use it. */
export const lastingStorage = Effect.map(
  Layer.build(SessionStorage.layerMemory),
  (context) => Context.get(context, SessionStorage)
)

/** This process knows that all others are dead. */
export const lonely = (name: string): Layer.Layer<Owner> =>
  Layer.succeed(Owner, { id: name, isGone: () => Effect.succeed(true), evict: () => Effect.succeed(true) })

/**
 * Runs a program as a process that dies at the given commit. Returns the program's result; none if the process died
 * first, after which nothing of it runs.
 */
export const process = <A, E, R>(
  inner: Context.Tag.Service<SessionStorage>,
  death: Death | "by hand" | undefined,
  program: (life: Life, storage: Layer.Layer<SessionStorage>) => Effect.Effect<A, E, R>
) =>
  Effect.gen(function*() {
    const died = yield* Deferred.make<void>()
    let isOver = false
    let commits = 0
    const die = Effect.suspend(() => {
      isOver = true
      return Effect.zipRight(Deferred.succeed(died, undefined), Effect.never)
    })
    const life: Life = {
      isOver: () => isOver,
      die,
      alive: (effect) => Effect.suspend(() => isOver ? Effect.never : effect)
    }
    const mortal = Object.fromEntries(
      Object.entries(inner).map(([name, member]) => [
        name,
        typeof member === "function"
          ? (...given: ReadonlyArray<never>) =>
            life.alive((member as unknown as (...all: ReadonlyArray<never>) => Effect.Effect<unknown>)(...given))
          : member
      ])
    ) as unknown as Context.Tag.Service<SessionStorage>
    const storage = Layer.succeed(SessionStorage, {
      ...mortal,
      commit: (writes: ReadonlyArray<Write>) =>
        life.alive(Effect.suspend(() => {
          if (typeof death !== "object" || ++commits !== death.at) return inner.commit(writes)
          return death.made ? Effect.zipRight(inner.commit(writes), die) : die
        }))
    })
    const running = yield* Effect.forkDaemon(Effect.scoped(program(life, storage)))
    return yield* Effect.raceFirst(
      Effect.map(Fiber.join(running), Option.some),
      Effect.as(Deferred.await(died), Option.none<A>())
    )
  })

/** Storage whose reads take some milliseconds, as those of a database do. */
export const slowed = (
  storage: Layer.Layer<SessionStorage>,
  latency: number | { readonly answers: number }
): Layer.Layer<SessionStorage> =>
  Layer.map(storage, (context) => {
    const late = (read: Effect.Effect<unknown>) =>
      typeof latency === "number" ? Effect.delay(read, latency) : Effect.zipLeft(read, Effect.sleep(latency.answers))
    const members = Object.entries(Context.get(context, SessionStorage)).map(([name, member]) => [
      name,
      typeof member === "function" && name !== "commit"
        ? (...given: ReadonlyArray<never>) =>
          late((member as unknown as (...all: ReadonlyArray<never>) => Effect.Effect<unknown>)(...given))
        : member
    ])
    return Context.make(SessionStorage, Object.fromEntries(members) as Context.Tag.Service<SessionStorage>)
  })
