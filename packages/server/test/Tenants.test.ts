/** Two graphs in one program, as two tenants have them: neither shows the other what it holds. */
import { expect, it } from "@effect/vitest"
import { Bus } from "@skein/core/Bus"
import { Permission } from "@skein/core/Permission"
import { Session } from "@skein/core/Session"
import { SessionStorage } from "@skein/core/SessionStorage"
import * as Skein from "@skein/core/Skein"
import { record } from "@skein/testing/RecordedEvents"
import * as Scripted from "@skein/testing/ScriptedProvider"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as ExecutionStrategy from "effect/ExecutionStrategy"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import { follow } from "./support/events.ts"
import { client, serving } from "./support/server.ts"

/** Builds layers as one program does: a layer that stands in several places is built once. */
const together = <A, B, E>(one: Layer.Layer<A, E>, other: Layer.Layer<B, E>) =>
  Effect.gen(function*() {
    const memo = yield* Layer.makeMemoMap
    const scope = yield* Effect.scope
    const ofOne = yield* Scope.fork(scope, ExecutionStrategy.sequential)
    return [
      yield* Layer.buildWithMemoMap(one, memo, ofOne),
      yield* Layer.buildWithMemoMap(other, memo, scope),
      Scope.close(ofOne, Exit.void)
    ] as const
  })

it.scopedLive("a server shows no session, question or event of another one in the same program", () =>
  Effect.gen(function*() {
    const [one, other, closeOne] = yield* together(serving({ "*": ["ok"] }), serving({ "*": ["ok"] }))
    const listed = Effect.flatMap(client, (skein) => skein.sessions.list({ urlParams: {} }))
    const seen = yield* Effect.provide(record(), other)
    const { id } = yield* Effect.provide(Session.create({ directory: "/one" }), one)
    yield* Effect.provide(Session.prompt(id, "Go"), one)
    expect((yield* Effect.provide(listed, one)).items).toMatchObject([{ id }])
    expect((yield* Effect.provide(listed, other)).items).toEqual([])
    expect(seen.all).toEqual([])
    const mine = yield* Effect.provide(Session.create({ directory: "/other" }), other)
    const { first } = yield* Effect.provide(follow(mine.id), other)
    for (const service of [Session, Bus, Permission, SessionStorage] as const) {
      expect(Context.get(one as Context.Context<unknown>, service as never)).not.toBe(
        Context.get(other as Context.Context<unknown>, service as never)
      )
    }
    // The end of one ends no stream of the other.
    yield* closeOne
    yield* Effect.provide(Session.prompt(mine.id, "Go"), other)
    expect((yield* first("message.updated")).sessionID).toBe(mine.id)
  }))

it.scoped("the same graph in two places of a program is one, and what two graphs are given is one for both", () =>
  Effect.gen(function*() {
    const { layer: provider } = Scripted.make({ "*": ["ok"] })
    const storage = Layer.fresh(SessionStorage.layerMemory)
    const given = Layer.effect(SessionStorage, SessionStorage).pipe(Layer.provide(storage))
    const graph = Skein.layer({ provider, storage: given })
    const [one, same] = yield* together(graph, graph)
    expect(Context.get(one, Session)).toBe(Context.get(same, Session))
    const [first, second] = yield* together(graph, Skein.layer({ provider, storage: given }))
    expect(Context.get(first, Session)).not.toBe(Context.get(second, Session))
    const { id } = yield* Effect.provide(Session.create({ directory: "/one" }), first)
    expect(yield* Effect.provide(Effect.flatMap(Session, ({ list }) => list()), second)).toMatchObject({
      rows: [{ id }]
    })
  }))
