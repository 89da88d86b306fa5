/** What a session knows besides its events. */
import type { Mode } from "@skein/domain/Mode"
import type { ModelRef } from "@skein/domain/Model"

/** What the person chose for the next prompts; undefined leaves it to the session. */
interface Choice {
  agent: string | undefined
  model: ModelRef | undefined
}

/** Where it works and with what; what is not known yet is absent. */
export interface Facts {
  readonly directory: string
  readonly branch: string | undefined
  /** The server that holds the database; undefined in this process. */
  server: string | undefined
  /** Whether that does not answer at the moment. */
  isAway?: boolean
  mode: Mode
  agent: string | undefined
  model: string | undefined
  /** How many tokens the model takes. */
  context: number | undefined
  commands: ReadonlyArray<{ readonly name: string; readonly description?: string | undefined }>
  agents: ReadonlyArray<
    { readonly name: string; readonly description?: string | undefined; readonly isPrimary: boolean }
  >
  files: ReadonlyArray<string> | undefined
  readonly choice: Choice
}

/** The agent that a prompt names: none in the mode plan, because naming one would leave the mode. */
export const chosenAgent = ({ choice, mode }: Facts): string | undefined => mode === "plan" ? undefined : choice.agent
