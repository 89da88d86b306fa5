/** Formats todos for the todo tools, and their storage errors. */
import type { StorageError } from "@skein/core/StorageError"
import type { ToolError, ToolResult } from "@skein/core/Tool"
import type { Todo } from "@skein/domain/SessionInfo"
import { refusal } from "./refusal.ts"

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
