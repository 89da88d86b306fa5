/** The tools `todowrite` and `todoread`: what an agent plans to do. */
import type { StorageError } from "@skein/core/StorageError"
import { TodoList } from "@skein/core/TodoList"
import { define, type Tool } from "@skein/core/Tool"
import { Todo } from "@skein/domain/Todo"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { refusal } from "./internal/refusal.ts"

const Parameters = Schema.Struct({
  todos: Schema.Array(Todo).annotations({ description: "All todos, those that are done included" })
})

/** What `todowrite` is asked. */
export interface TodoWriteInput extends Schema.Schema.Type<typeof Parameters> {}

const Nothing = Schema.Struct({})

/** What `todoread` is asked: nothing. */
export interface TodoReadInput extends Schema.Schema.Type<typeof Nothing> {}

const boxes = { pending: "[ ]", in_progress: "[>]", completed: "[x]", cancelled: "[-]" }

const drawn = (todos: ReadonlyArray<Todo>): string =>
  todos.length === 0
    ? "There are no todos."
    : todos.map(({ content, priority, status }) => `${boxes[status]} ${content} (${priority})`).join("\n")

const titleOf = (todos: ReadonlyArray<Todo>): string => {
  const open = todos.filter(({ status }) => status === "pending" || status === "in_progress").length
  return `${open} of ${todos.length} todos open`
}

const failed = (error: StorageError) => refusal("storage", error.message)

/** Makes `todowrite`. */
export const makeTodoWrite: Effect.Effect<Tool<TodoWriteInput>, never, TodoList> = Effect.map(
  TodoList,
  (list) =>
    define<TodoWriteInput>({
      name: "todowrite",
      describe:
        `Replaces the list of todos of this session. Use it for work of three steps or more, and keep it true: one todo is
in_progress at a time, and each is completed as soon as it is.`,
      parameters: Parameters,
      effect: "safe",
      title: ({ todos }) => titleOf(todos),
      authorise: () => Effect.succeed([{ permission: "todowrite", patterns: ["*"], always: ["*"], metadata: {} }]),
      execute: ({ todos }, context) =>
        Effect.as(Effect.mapError(list.set(context, todos), failed), {
          title: titleOf(todos),
          output: drawn(todos),
          metadata: { todos }
        })
    })
)

/** Makes `todoread`. */
export const makeTodoRead: Effect.Effect<Tool<TodoReadInput>, never, TodoList> = Effect.map(
  TodoList,
  (list) =>
    define<TodoReadInput>({
      name: "todoread",
      describe: "Shows the todos of this session.",
      parameters: Nothing,
      effect: "safe",
      title: () => "todos",
      authorise: () => Effect.succeed([{ permission: "todoread", patterns: ["*"], always: ["*"], metadata: {} }]),
      execute: (_input, context) =>
        Effect.map(Effect.mapError(list.get(context.sessionID), failed), (todos) => ({
          title: titleOf(todos),
          output: drawn(todos),
          metadata: { todos }
        }))
    })
)
