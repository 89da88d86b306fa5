/** The tool `todoread`: shows an agent's plan. */
import { TodoList } from "@skein/core/TodoList"
import { define, type Tool } from "@skein/core/Tool"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { storageFailed, todoResult } from "./internal/todoResult.ts"

const isEmpty = (input: unknown): input is TodoReadInput =>
  typeof input === "object" && input !== null && !Array.isArray(input) && Object.keys(input).length === 0

// An empty struct would also accept a list or a text, and the schema that models get would say so.
const Parameters = Schema.declare(isEmpty, {
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
      parameters: Parameters,
      effect: "safe",
      title: () => "todos",
      authorise: () => Effect.succeed([{ permission: "todoread", patterns: ["*"], always: ["*"], metadata: {} }]),
      execute: (_input, context) =>
        Effect.mapBoth(list.get(context.sessionID), { onFailure: storageFailed, onSuccess: todoResult })
    })
)
