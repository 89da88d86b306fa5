/** Turns a refusal of a task into the error of a call. */
import type { StorageError } from "../../StorageError.ts"
import type { TaskRefused } from "../../TaskRequest.ts"
import { ToolError } from "../../Tool.ts"

/** A refusal as the error of a call. */
export const taskError = (error: TaskRefused | StorageError) =>
  new ToolError({ kind: error._tag === "TaskRefused" ? error.reason : "storage", message: error.message })
