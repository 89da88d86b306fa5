/**
 * Builds graphs of layers in the current scope. Effect does that for any scopes and many fibers, with some hundred operations
 * for each node of a graph, of which a program has hundreds: they were half of its start.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as ExecutionStrategy from "effect/ExecutionStrategy"
import * as Exit from "effect/Exit"
import * as FiberRef from "effect/FiberRef"
import { unsafeCoerce } from "effect/Function"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import type { YieldWrap } from "effect/Utils"

type Services = Context.Context<never>

type Building = Generator<YieldWrap<Effect.Effect<unknown, unknown, unknown>>, Services, never>

/** The layers of a graph that are built. As in Effect, a layer is known by reference, and is built once. */
type Built = Map<Node, Services>

/** What Effect makes of the kinds of layers that are worth reading. Their names are its own, and those of other kinds too. */
type Node =
  | { readonly _op_layer: "FromEffect" | "Scoped"; readonly effect: Effect.Effect<Services, unknown, unknown> }
  | { readonly _op_layer: "Suspend"; readonly evaluate: () => Node }
  | { readonly _op_layer: "Provide"; readonly first: Node; readonly second: Node }
  | {
    readonly _op_layer: "ProvideMerge" | "ZipWith"
    readonly first: Node
    readonly second: Node
    readonly zipK: (first: Services, second: Services) => Services
  }
  | { readonly _op_layer: "MergeAll"; readonly layers: ReadonlyArray<Node> }
  | {
    readonly _op_layer: "Fold"
    readonly layer: Node
    readonly failureK: (cause: unknown) => Node
    readonly successK: (services: Services) => Node
  }
  | (Layer.Layer<never> & { readonly _op_layer: "ExtendScope" | "Fresh" | "Locally" })

function* make(node: Node, around: Services, built: Built): Building {
  switch (node._op_layer) {
    case "Scoped": {
      // What it forks or acquires later ends with it, after what stands on it.
      const scope = yield* Scope.fork(Context.unsafeGet(around, Scope.Scope), ExecutionStrategy.sequential)
      yield* FiberRef.set(FiberRef.currentContext, Context.add(around, Scope.Scope, scope))
      return yield* node.effect
    }
    case "FromEffect":
      yield* FiberRef.set(FiberRef.currentContext, around)
      return yield* node.effect
    case "Suspend":
      return yield* walk(node.evaluate(), around, built)
    case "Provide":
      return yield* walk(node.second, yield* walk(node.first, around, built), built)
    case "ProvideMerge":
    case "ZipWith":
      return node.zipK(yield* walk(node.first, around, built), yield* walk(node.second, around, built))
    case "MergeAll": {
      const all: Array<Services> = []
      for (const layer of node.layers) all.push(yield* walk(layer, around, built))
      return Context.mergeAll(...all)
    }
    case "Fold": {
      const exit = yield* Effect.exit(Effect.gen(() => walk(node.layer, around, built)))
      return yield* walk(
        Exit.isSuccess(exit) ? node.successK(exit.value) : node.failureK(exit.cause),
        around,
        built
      )
    }
    default:
      yield* FiberRef.set(FiberRef.currentContext, around)
      return yield* Layer.build(node)
  }
}

function* walk(node: Node, around: Services, built: Built): Building {
  const known = built.get(node)
  if (known !== undefined) return known
  const services = yield* make(node, around, built)
  built.set(node, services)
  return services
}

/**
 * Builds a layer and what it needs, one after the other, and returns its services. They end with the scope, in the reverse
 * order: each before what it stands on.
 */
export const build = <A, E, R>(layer: Layer.Layer<A, E, R>): Effect.Effect<Context.Context<A>, E, R | Scope.Scope> =>
  Effect.contextWithEffect((around: Context.Context<R | Scope.Scope>) =>
    Effect.locally(
      // The services and errors of the nodes are those of the layer.
      unsafeCoerce<Effect.Effect<Services, unknown, unknown>, Effect.Effect<Context.Context<A>, E>>(
        Effect.gen(() => walk(unsafeCoerce(layer), unsafeCoerce(around), new Map()))
      ),
      FiberRef.currentContext,
      unsafeCoerce(around)
    )
  )

/** Builds a layer in a scope, which need not be the current one. */
export const buildIn = <A, E, R>(
  layer: Layer.Layer<A, E, R>,
  scope: Scope.Scope
): Effect.Effect<Context.Context<A>, E, R> => Effect.provideService(build(layer), Scope.Scope, scope)

/** Runs an effect with the services of a layer, which end with it. */
export const provide =
  <A, E, R>(layer: Layer.Layer<A, E, R>) =>
  <B, E2, R2>(effect: Effect.Effect<B, E2, R2>): Effect.Effect<B, E | E2, R | Exclude<R2, A>> =>
    Effect.scopedWith((scope) => Effect.flatMap(buildIn(layer, scope), (services) => Effect.provide(effect, services)))
