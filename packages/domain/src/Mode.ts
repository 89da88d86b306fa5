/** Defines modes: how much a tree of sessions may do without asking. */
import * as Schema from "effect/Schema"

/**
 * `plan`: the agent `plan` works, and only its plan files change. `ask`: edits need a question. `edits`: edits in the
 * working directory need no question. `auto`: nothing is asked, and what only a person may allow is denied.
 */
export const Mode = Schema.Literal("plan", "ask", "edits", "auto")
/** The type of a mode. */
export type Mode = typeof Mode.Type

/** The agent that works in the mode `plan`. */
export const planAgent = "plan"

/** The mode of a root session; the default one if none was stored. */
export const modeOf = ({ agent, mode }: { readonly agent: string; readonly mode?: Mode | undefined }): Mode =>
  mode ?? (agent === planAgent ? "plan" : "ask")

/** Whether files in the working directory may change without a question. */
export const mayEdit = (mode: Mode): boolean => mode === "edits" || mode === "auto"
