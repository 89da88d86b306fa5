/** Owns what the agents of a session plan to do. */
import type { SessionID } from "@skein/domain/Id"
import type { Todo } from "@skein/domain/Todo"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { StorageError } from "./StorageError.ts"
import type { ToolCaller } from "./Tool.ts"

/** The todos of each session. */
export class TodoList extends Context.Tag("@skein/core/TodoList")<TodoList, {
  /** The todos of a session, in the order in which they were given; none where none were. */
  readonly get: (session: SessionID) => Effect.Effect<ReadonlyArray<Todo>, StorageError>
  /** Replaces all todos of the caller's session. */
  readonly set: (caller: ToolCaller, todos: ReadonlyArray<Todo>) => Effect.Effect<void, StorageError>
}>() {
  /** Todos that last as long as the layer, and that nobody is told of. */
  static readonly layerMemory: Layer.Layer<TodoList> = Layer.sync(TodoList, () => {
    const lists = new Map<SessionID, ReadonlyArray<Todo>>()
    return {
      get: (session) => Effect.sync(() => lists.get(session) ?? []),
      set: (caller, todos) => Effect.sync(() => void lists.set(caller.sessionID, todos))
    }
  })
}
