/** One step of a turn: an answer of a model, and its calls. */
import type { ModelRef } from "@skein/domain/Model"
import type { Answer } from "./askModel.ts"

/** A step that ended well. */
export interface Step extends Answer {
  readonly model: ModelRef
  /** The names of the tools that were offered to the model. */
  readonly offered: ReadonlyArray<string>
  /** Whether this was the last step that the agent may make. */
  readonly last: boolean
}
