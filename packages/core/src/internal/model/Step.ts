/** One step of a turn: an answer of a model, and what it may lead to. */
import type { ModelRef } from "@skein/domain/Model"
import type { Answer } from "./askModel.ts"

/** A step that ended well. */
export interface Step extends Answer {
  readonly model: ModelRef
  /** The names of the tools that the model could ask for. */
  readonly offered: ReadonlyArray<string>
  /** Whether this was the last step that the agent may make. */
  readonly last: boolean
}
