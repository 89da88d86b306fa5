/** Graphs of layers: what is built, how often, in which order, and when it ends. Effect's own build is the measure. */
import { expect, it } from "@effect/vitest"
import * as LayerGraph from "@skein/core/LayerGraph"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as FastCheck from "effect/FastCheck"
import * as Fiber from "effect/Fiber"
import * as FiberRef from "effect/FiberRef"
import { unsafeCoerce } from "effect/Function"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Scope from "effect/Scope"

const tagOf = (at: number) => Context.GenericTag<number>(`service ${at}`)

const forms = ["effect", "scoped", "suspended", "unwrapped", "mapped", "caught", "fresh", "located"] as const

interface Spec {
  readonly needs: ReadonlyArray<number>
  readonly form: typeof forms[number]
  readonly keeps: boolean
}

const specs: FastCheck.Arbitrary<ReadonlyArray<Spec>> = FastCheck.array(
  FastCheck.record({
    needs: FastCheck.array(FastCheck.nat(), { maxLength: 3 }),
    form: FastCheck.constantFrom(...forms),
    keeps: FastCheck.boolean()
  }),
  { minLength: 1, maxLength: 8 }
)

/** A layer whose needs only the graph knows. */
const erased = (layer: Layer.Layer<number, unknown, number>) => unsafeCoerce<typeof layer, Layer.Layer<never>>(layer)

const isSet = FiberRef.unsafeMake(0)

/** Each service is the sum of those that it needs, and one; it notes when it begins and ends. */
const graphOf = (given: ReadonlyArray<Spec>, log: Array<string>) => {
  const layers: Array<Layer.Layer<never>> = []
  for (const [at, { form, keeps, needs }] of given.entries()) {
    const own = [...new Set(needs.filter(() => at > 0).map((each) => each % at))]
    const acquired = Effect.acquireRelease(
      Effect.map(Effect.all(own.map(tagOf)), (found) => {
        log.push(`+${at}`)
        return found.reduce((sum, each) => sum + each, 1)
      }),
      () => Effect.sync(() => log.push(`-${at}`))
    )
    const plain = Layer.scoped(tagOf(at), acquired)
    const formed = erased(
      {
        effect: Layer.effect(tagOf(at), Effect.map(Effect.all(own.map(tagOf)), (found) => found.length)),
        scoped: plain,
        suspended: Layer.suspend(() => plain),
        unwrapped: Layer.unwrapEffect(Effect.succeed(plain)),
        mapped: Layer.mapError(plain, () => "failed"),
        caught: Layer.catchAll(Layer.fail("no"), () => plain),
        fresh: Layer.fresh(plain),
        located: Layer.locally(plain, isSet, 1)
      }[form]
    )
    const below = own.map((each) => layers[each] ?? Layer.empty)
    const [first, ...rest] = below
    const under = first === undefined ? Layer.empty : Layer.mergeAll(first, ...rest)
    layers.push(keeps ? Layer.provideMerge(formed, under) : Layer.provide(formed, under))
  }
  const [first = Layer.empty, ...rest] = layers.toReversed()
  return Layer.mergeAll(first, ...rest)
}

const run = (given: ReadonlyArray<Spec>, build: typeof LayerGraph.build) => {
  const log: Array<string> = []
  const services = Effect.runSync(Effect.scoped(Effect.map(
    build(graphOf(given, log)),
    (built) => given.map((_, at) => Option.getOrUndefined(Context.getOption(built, tagOf(at))))
  )))
  return { services, log }
}

it("builds each graph as Effect does, and ends it in the reverse order", () => {
  FastCheck.assert(
    FastCheck.property(specs, (given) => {
      const own = run(given, LayerGraph.build)
      const effect = run(given, Layer.build)
      expect(own.services).toEqual(effect.services)
      expect(own.log.toSorted()).toEqual(effect.log.toSorted())
      const begun = own.log.filter((entry) => entry.startsWith("+")).map((entry) => entry.slice(1))
      const ended = own.log.filter((entry) => entry.startsWith("-")).map((entry) => entry.slice(1))
      expect(ended).toEqual(begun.toReversed())
    }),
    { numRuns: 100 }
  )
})

const noted = (name: string, log: Array<string>) =>
  Effect.acquireRelease(Effect.sync(() => log.push(`+${name}`)), () => Effect.sync(() => log.push(`-${name}`)))

class One extends Context.Tag("test/One")<One, number>() {}

class Two extends Context.Tag("test/Two")<Two, number>() {}

it.effect("fails as the layer that fails, builds none after it, and ends those before it", () =>
  Effect.gen(function*() {
    const log: Array<string> = []
    const graph = Layer.scopedDiscard(noted("last", log)).pipe(
      Layer.provideMerge(Layer.fail("broken")),
      Layer.provideMerge(Layer.scopedDiscard(noted("first", log)))
    )
    expect(yield* Effect.scoped(Effect.exit(LayerGraph.build(graph)))).toEqual(Exit.fail("broken"))
    expect(log).toEqual(["+first", "-first"])
  }))

it.effect("ends what is built if it is interrupted", () =>
  Effect.gen(function*() {
    const log: Array<string> = []
    const begun = yield* Deferred.make<void>()
    const waiting = Layer.effectDiscard(Effect.zipRight(Deferred.succeed(begun, undefined), Effect.never))
    const graph = Layer.provideMerge(waiting, Layer.scopedDiscard(noted("first", log)))
    const fiber = yield* Effect.fork(Effect.scoped(LayerGraph.build(graph)))
    yield* Deferred.await(begun)
    expect(log).toEqual(["+first"])
    yield* Fiber.interrupt(fiber)
    expect(log).toEqual(["+first", "-first"])
  }))

it.effect("leaves the services around it as they are, and gives them to the layers", () =>
  Effect.gen(function*() {
    const two = Layer.effect(Two, Effect.map(One, (one) => one + 1))
    const built = yield* Effect.scoped(
      Effect.flatMap(LayerGraph.build(two), (services) =>
        Effect.map(Effect.serviceOption(Two), (after) => {
          expect(after).toEqual(Option.none())
          return services
        }))
    )
    expect(Context.get(built, Two)).toBe(2)
  }).pipe(Effect.provideService(One, 1)))

it.effect("keeps what a layer changes in its fiber until the scope ends", () =>
  Effect.gen(function*() {
    const setting = Layer.scopedDiscard(Effect.locallyScoped(isSet, 7))
    const seen = yield* Effect.scoped(Effect.zipRight(LayerGraph.build(setting), FiberRef.get(isSet)))
    expect(seen).toBe(7)
    expect(yield* FiberRef.get(isSet)).toBe(0)
  }))

it.effect("builds in another scope than the current one, and provides an effect", () =>
  Effect.gen(function*() {
    const log: Array<string> = []
    const scope = yield* Scope.make()
    const layer = Layer.scoped(One, noted("one", log))
    yield* LayerGraph.buildIn(layer, scope)
    expect(log).toEqual(["+one"])
    yield* Scope.close(scope, Exit.void)
    expect(log).toEqual(["+one", "-one"])
    expect(yield* LayerGraph.provide(layer)(Effect.map(One, (one) => [one, log.length]))).toEqual([3, 3])
    expect(log.slice(2)).toEqual(["+one", "-one"])
  }))

it.effect("what a layer acquires after the build ends after what stands on the layer, as in Effect", () =>
  Effect.gen(function*() {
    for (const build of [LayerGraph.buildIn, Layer.buildWithScope]) {
      const log: Array<string> = []
      const note = (what: string) => Effect.sync(() => void log.push(what))
      const Later = Context.GenericTag<Effect.Effect<void>>("later")
      const below = Layer.scoped(
        Later,
        Effect.map(Effect.scope, (scope) => Scope.addFinalizer(scope, note("acquired later")))
      )
      const above = Layer.scopedDiscard(Effect.zipRight(Later, Effect.addFinalizer(() => note("stands on it"))))
      const scope = yield* Scope.make()
      yield* Context.get(yield* build(Layer.provideMerge(above, below), scope), Later)
      yield* Scope.close(scope, Exit.void)
      expect(log).toEqual(["stands on it", "acquired later"])
    }
  }))
