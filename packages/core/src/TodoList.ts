/** Owns the todos of sessions: what an agent plans to do. */
import type { SessionID } from "@skein/domain/Id"
import type { Todo } from "@skein/domain/SessionInfo"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { Journal } from "./Journal.ts"
import { SessionStorage } from "./SessionStorage.ts"
import type { StorageError } from "./StorageError.ts"
import type { ToolCaller } from "./Tool.ts"

/** The todos of sessions. */
export class TodoList extends Context.Tag("@skein/core/TodoList")<TodoList, {
  /** The todos of a session, in order. */
  readonly get: (id: SessionID) => Effect.Effect<ReadonlyArray<Todo>, StorageError>
  /** Replaces the caller's todos. */
  readonly set: (caller: ToolCaller, todos: ReadonlyArray<Todo>) => Effect.Effect<void, StorageError>
}>() {
  /** Todos that are stored with the session and published on the bus. */
  static readonly layer: Layer.Layer<TodoList, never, SessionStorage | Journal> = Layer.effect(
    TodoList,
    Effect.gen(function*() {
      const storage = yield* SessionStorage
      const journal = yield* Journal
      return {
        get: storage.todos,
        set: (caller, todos) =>
          journal.commit([{ _tag: "Todos", sessionID: caller.sessionID, todos }], {
            id: caller.sessionID,
            rootID: caller.rootID,
            depth: caller.depth
          })
      }
    })
  )

  /** Todos that last as long as the layer. */
  static readonly layerMemory: Layer.Layer<TodoList> = Layer.sync(TodoList, () => {
    const lists = new Map<SessionID, ReadonlyArray<Todo>>()
    return {
      get: (id) => Effect.sync(() => lists.get(id) ?? []),
      set: (caller, todos) => Effect.sync(() => void lists.set(caller.sessionID, todos))
    }
  })
}
