/** Decides in which words a caller outside of Skein reads how a task ended, and what it does. */
import type { SessionID } from "@skein/domain/Id"
import type { Outcome } from "@skein/domain/Outcome"
import type * as Effect from "effect/Effect"
import * as texts from "./internal/tasks/taskTexts.ts"
import type { Spill } from "./Spill.ts"
import type { TaskStatus } from "./TaskRequest.ts"

/** The result of a task, as the `task` tool gives it; `reader` owns the file for what is too long. */
export const outcomeText = (reader: SessionID, outcome: Outcome): Effect.Effect<string, never, Spill> =>
  texts.outcomeText(reader, outcome)

/** The status of a task, as lines. */
export const statusText = (status: TaskStatus): string => texts.statusText(status)
