/** The tools `todoread` and `todowrite`: show and store an agent's plan. */
import type { StorageError } from "@skein/core/StorageError"
import { TodoList } from "@skein/core/TodoList"
import { define, type Tool, type ToolError, type ToolResult } from "@skein/core/Tool"
import { Todo } from "@skein/domain/SessionInfo"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { refusal } from "./internal/refusal.ts"

const boxes = { pending: "[ ]", in_progress: "[>]", completed: "[x]", cancelled: "[-]" }

/** How many todos are open, of how many. */
export const openTodos = (todos: ReadonlyArray<Todo>): string => {
  const open = todos.filter(({ status }) => status === "pending" || status === "in_progress").length
  return `${open} of ${todos.length} todos open`
}

/** The todos, one a line. */
export const todoResult = (todos: ReadonlyArray<Todo>): ToolResult => ({
  title: openTodos(todos),
  output: todos.length === 0
    ? "There are no todos."
    : todos.map(({ content, priority, status }) => `${boxes[status]} ${content} (${priority})`).join("\n"),
  metadata: { todos }
})

/** A storage error as the model reads it. */
export const storageFailed = (error: StorageError): ToolError => refusal("storage", error.message)

const isEmpty = (input: unknown): input is TodoReadInput =>
  typeof input === "object" && input !== null && !Array.isArray(input) && Object.keys(input).length === 0

// An empty struct would also accept a list or a text, and the schema that models get would say so.
const NoParameters = Schema.declare(isEmpty, {
  message: () => "todoread takes no arguments: send {}",
  jsonSchema: { type: "object", properties: {}, required: [], additionalProperties: false }
})

/** `todoread` has no parameters. */
export type TodoReadInput = Readonly<Record<never, never>>

/** Makes `todoread`. */
export const makeTodoRead: Effect.Effect<Tool<TodoReadInput>, never, TodoList> = Effect.map(
  TodoList,
  (list) =>
    define<TodoReadInput>({
      name: "todoread",
      describe: "Shows the todos of this session.",
      parameters: NoParameters,
      effect: "safe",
      title: () => "todos",
      authorise: () => Effect.succeed([{ permission: "todoread", patterns: ["*"], always: ["*"], metadata: {} }]),
      execute: (_input, context) =>
        Effect.mapBoth(list.get(context.sessionID), { onFailure: storageFailed, onSuccess: todoResult })
    })
)

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
