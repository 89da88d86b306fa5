/** The tool `todowrite`: stores an agent's plan. */
import { TodoList } from "@skein/core/TodoList"
import { define, type Tool } from "@skein/core/Tool"
import { Todo } from "@skein/domain/SessionInfo"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { openTodos, storageFailed, todoResult } from "./internal/todoResult.ts"

const description =
  `Replaces the list of todos of this session. Use it for work of three steps or more, and keep it true: one todo is
in_progress at a time, and each is completed as soon as it is.`

const Parameters = Schema.Struct({
  todos: Schema.Array(Todo).annotations({ description: "All todos, those that are done included" })
})

/** The parameters of `todowrite`. */
export interface TodoWriteInput extends Schema.Schema.Type<typeof Parameters> {}

/** Makes `todowrite`. */
export const makeTodoWrite: Effect.Effect<Tool<TodoWriteInput>, never, TodoList> = Effect.map(
  TodoList,
  (list) =>
    define<TodoWriteInput>({
      name: "todowrite",
      describe: description,
      parameters: Parameters,
      effect: "safe",
      title: ({ todos }) => openTodos(todos),
      authorise: () => Effect.succeed([{ permission: "todowrite", patterns: ["*"], always: ["*"], metadata: {} }]),
      execute: ({ todos }, context) =>
        Effect.as(Effect.mapError(list.set(context, todos), storageFailed), todoResult(todos))
    })
)
