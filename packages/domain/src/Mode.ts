/** Decides how much a tree of sessions may do without a question. */
import * as Schema from "effect/Schema"

/**
 * `plan`: the agent `plan` works, and nothing but its plan files changes. `ask`: edits are asked for. `edits`: edits in the
 * working directory need no question. `auto`: nothing is asked; what only a person may allow is denied.
 */
export const Mode = Schema.Literal("plan", "ask", "edits", "auto")
/** The type of a mode. */
export type Mode = typeof Mode.Type

/** The agent that works in the mode `plan`. */
export const planAgent = "plan"

/** The mode of a root session; the usual one where none was stored. */
export const modeOf = ({ agent, mode }: { readonly agent: string; readonly mode?: Mode | undefined }): Mode =>
  mode ?? (agent === planAgent ? "plan" : "ask")

/** Whether files in the working directory may change without a question. */
export const mayEdit = (mode: Mode): boolean => mode === "edits" || mode === "auto"
