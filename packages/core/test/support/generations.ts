/** Successive processes on the same storage, each of which may die at a time or at a commit. */
import { Provider } from "@skein/core/Provider"
import { Session } from "@skein/core/Session"
import type { AnyTool } from "@skein/core/Tool"
import type { SessionID } from "@skein/domain/Id"
import * as Scripted from "@skein/testing/ScriptedProvider"
import { simulate } from "@skein/testing/Simulation"
import * as SkeinTest from "@skein/testing/SkeinTest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import { expect } from "vitest"
import { type Death, lastingStorage, type Life, lonely, process, slowed } from "./mortal.ts"
import { root } from "./tree.ts"

type Services = Layer.Layer.Success<ReturnType<typeof SkeinTest.layer>>

/** One of the processes. */
export interface Generation {
  readonly scripts: Parameters<typeof Scripted.make>[0]
  /** The name of its model. */
  readonly modelID?: string
  /** Another model, which is the default one. */
  readonly usual?: Scripted.Scripted
  readonly options: SkeinTest.SkeinTestOptions
  /** Tools that end with their process. */
  readonly tools?: (life: Life) => ReadonlyArray<AnyTool>
  /** After how many milliseconds, or at which commit, it dies; if absent, it finishes. */
  readonly dies?: number | Death
  /** How long each read of storage takes (ms), before it is made or, as `answers`, after that; no time if absent. */
  readonly latency?: number | { readonly answers: number }
  readonly program: (id: SessionID, script: Scripted.Scripted) => Effect.Effect<unknown, unknown, Services>
}

/** The first one starts a tree, and the others get its root. */
export const generations = (
  first: Omit<Generation, "program"> & {
    readonly program: Effect.Effect<unknown, unknown, Services>
    /** Decides the order of the fibers in all of them. */
    readonly seed?: number
  },
  ...others: ReadonlyArray<Generation>
): void => {
  const all: ReadonlyArray<Generation> = [{ ...first, program: () => first.program }, ...others]
  const program = Effect.gen(function*() {
    const inner = yield* lastingStorage
    for (
      const [n, { dies, latency, modelID, options, program: work, scripts, tools = () => [], usual }] of all.entries()
    ) {
      yield* process(inner, typeof dies === "number" ? "by hand" : dies, (life, storage) =>
        Effect.gen(function*() {
          const script = Scripted.make(scripts, modelID === undefined ? {} : { modelID })
          const provider = usual === undefined ? script.layer : Provider.layerModels([usual.model, script.model])
          const layer = SkeinTest.layer({ layer: provider }, {
            ...options,
            tools: tools(life),
            storage: latency === undefined ? storage : slowed(storage, latency),
            owner: lonely(`process ${n}`)
          })
          const context = yield* Layer.build(layer)
          const main = Effect.provide(
            Effect.gen(function*() {
              const [info] = (yield* Effect.flatMap(Session, (session) => session.list())).rows
              if (n > 0) expect(info, `process  has a tree to resume`).toBeDefined()
              yield* work(info?.id ?? "ses_" as SessionID, script)
            }),
            context
          )
          if (typeof dies !== "number") return yield* main
          // A refusal may be expected in a process that dies, but a false expectation fails the test.
          const working = yield* Effect.forkScoped(Effect.zipRight(Effect.ignore(main), Effect.never))
          yield* Effect.raceFirst(Fiber.join(working), Effect.sleep(dies))
          return yield* life.die
        }))
    }
  })
  simulate(Effect.scoped(program), { seed: first.seed ?? 1 })
}

/** Starts a tree, and waits for its answer. */
export const go = Effect.gen(function*() {
  const { id } = yield* root()
  yield* Session.prompt(id, "Go")
})

/** The agents for which a process asked models, each as its path. */
export const asked = ({ requests }: Scripted.Scripted) => requests.map(({ origin }) => origin.path.join("/"))

/** A tool that takes an hour the first time it runs, and no time after that. */
export const hourFirst =
  (name: string, more: Parameters<typeof SkeinTest.tool>[2], runs: Array<string>) => (life: Life) => [
    SkeinTest.tool(name, () =>
      life.alive(Effect.gen(function*() {
        runs.push(name)
        if (runs.length === 1) yield* Effect.sleep("1 hour")
        return `${name} is done`
      })), more)
  ]

/** Resumes a tree, and waits until it is idle. */
export const resumed = Effect.fnUntraced(function*(id: SessionID) {
  const session = yield* Session
  yield* session.resume(id)
  const turn = yield* session.untilIdle(id)
  yield* Effect.sleep(1_000)
  return turn
})
