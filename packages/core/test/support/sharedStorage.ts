/** Several processes on one storage, each with services of its own. */
import { SessionStorage, type Write } from "@skein/core/SessionStorage"
import type { SessionID } from "@skein/domain/Id"
import * as Scripted from "@skein/testing/ScriptedProvider"
import { simulate } from "@skein/testing/Simulation"
import * as SkeinTest from "@skein/testing/SkeinTest"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import { lastingStorage } from "./mortal.ts"
import { messagesOf } from "./tree.ts"

export type Storage = Context.Tag.Service<SessionStorage>

/** Storage shared by several processes, as each of them sees it; a latch can suspend one of them. */
export const sharedBy = (inner: Storage, latch?: Effect.Latch, seen?: Array<ReadonlyArray<Write>>) =>
  Layer.succeed(SessionStorage, {
    ...inner,
    mail: Effect.succeed(undefined),
    commit: (writes) =>
      Effect.suspend(() => {
        seen?.push(writes)
        const made = inner.commit(writes)
        return latch === undefined ? made : Effect.zipRight(latch.await, made)
      })
  })

export const stack = (
  script: Scripted.Scripted,
  storage: Layer.Layer<SessionStorage>,
  tools: Parameters<typeof SkeinTest.layer>[1] = {}
) => Layer.build(Layer.fresh(SkeinTest.layer(script, { agents: [SkeinTest.agent("worker")], ...tools, storage })))

export const words = (id: SessionID) =>
  Effect.map(
    messagesOf(id),
    (all) => all.flatMap(({ parts }) => parts.flatMap((part) => part.type === "text" ? [part.text] : []))
  )

export const run = <A>(program: (inner: Storage) => Effect.Effect<A, unknown, Scope.Scope>) =>
  simulate(Effect.scoped(Effect.flatMap(lastingStorage, program)), { seed: 1 })
