/** Owns the backend in this process: the services of the core, as front ends see them. */
import { Command } from "@skein/core/Command"
import { Permission } from "@skein/core/Permission"
import { Question } from "@skein/core/Question"
import { Session } from "@skein/core/Session"
import { findSession, snapshotOf } from "@skein/core/SessionLookup"
import { SessionStorage } from "@skein/core/SessionStorage"
import type { ManyServices } from "@skein/core/Skein"
import { Tasks } from "@skein/core/Tasks"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import { Backend } from "./Backend.ts"
import {
  type Local,
  makeAsks,
  makeProjects,
  makeSessions,
  makeTaskControl,
  watchMade,
  watchTree
} from "./internal/local.ts"

/** The options of a backend in this process. */
export interface LocalOptions {
  /** The project of a directory, by which approvals are keyed. By default the directory itself. */
  readonly projectOf?: (directory: string) => Effect.Effect<string>
}

/** The sessions of this process. Prompts continue until the layer closes, which stops them. */
export const layer = (
  { projectOf = Effect.succeed }: LocalOptions = {}
): Layer.Layer<Backend, never, ManyServices> =>
  Layer.scoped(
    Backend,
    Effect.gen(function*() {
      // Without the scope of this layer: what watches lasts as long as the scope of the watcher.
      const services = Context.omit(Scope.Scope)(yield* Effect.context<ManyServices>()) as Context.Context<ManyServices>
      const scope = yield* Effect.scope
      const storage = yield* SessionStorage
      const local: Local = { given: (effect) => Effect.provide(effect, services), projectOf }
      return {
        where: { _tag: "Local" },
        sessions: makeSessions(local, yield* Session, storage, scope),
        watch: {
          snapshot: (id) => local.given(Effect.flatMap(findSession(id), ({ rootID }) => snapshotOf(rootID))),
          tree: (id, watcher) => local.given(watchTree(id, watcher)),
          made: (making, watcher) => local.given(watchMade(making, watcher))
        },
        asks: makeAsks(local, yield* Permission, yield* Question),
        tasks: makeTaskControl(local, yield* Tasks, storage),
        projects: makeProjects(local, yield* Command),
        machine: Effect.succeed(undefined),
        intact: storage.intact ?? Effect.void
      }
    })
  )
