/** Decides which modes and models a client can choose for a session. */
import type { SessionConfigOption, SessionModeState } from "@agentclientprotocol/sdk/unstable"
import type { ModelFact } from "@skein/backend/ProjectFacts"
import type { Mode } from "@skein/domain/Mode"
import { formatRef, type ModelRef } from "@skein/domain/Model"

/** What is chosen in a session now. */
export interface Chosen {
  readonly mode: Mode
  /** The model that answers; undefined where none can. */
  readonly model: ModelRef | undefined
}

const modes: Readonly<Record<Mode, { readonly name: string; readonly description: string }>> = {
  plan: { name: "Plan", description: "Reads and plans; changes nothing but its plan files" },
  ask: { name: "Ask", description: "Asks before it changes files or runs commands that are not confined" },
  edits: { name: "Edits", description: "Changes files in the working directory without a question" },
  auto: { name: "Auto", description: "Asks nothing; what only a person may allow is denied" }
}

/** The modes to choose from. `auto` can only be chosen where the program was started with it. */
const offered = (current: Mode, allowsAuto: boolean): ReadonlyArray<Mode> =>
  allowsAuto || current === "auto" ? ["plan", "ask", "edits", "auto"] : ["plan", "ask", "edits"]

/** Whether a client may choose a mode. */
export const mayChoose = (mode: string, allowsAuto: boolean): mode is Mode =>
  offered("ask", allowsAuto).some((each) => each === mode)

/** The modes as the older method has them. */
export const modeState = ({ mode }: Chosen, allowsAuto: boolean): SessionModeState => ({
  currentModeId: mode,
  availableModes: offered(mode, allowsAuto).map((id) => ({ id, ...modes[id] }))
})

const modelOption = ({ model }: Chosen, models: ReadonlyArray<ModelFact>): ReadonlyArray<SessionConfigOption> => {
  const current = model === undefined ? undefined : formatRef(model)
  const names = models.filter(({ available }) => available).map((fact) => ({
    value: formatRef(fact),
    name: fact.name ?? formatRef(fact)
  }))
  if (current === undefined) return []
  const options = names.some(({ value }) => value === current) ? names : [{ value: current, name: current }, ...names]
  return [{ id: "model", name: "Model", category: "model", type: "select", currentValue: current, options }]
}

/** All that can be chosen. */
export const configOptions = (
  chosen: Chosen,
  models: ReadonlyArray<ModelFact>,
  allowsAuto: boolean
): Array<SessionConfigOption> => [
  {
    id: "mode",
    name: "Mode",
    category: "mode",
    type: "select",
    currentValue: chosen.mode,
    options: offered(chosen.mode, allowsAuto).map((value) => ({ value, ...modes[value] }))
  },
  ...modelOption(chosen, models)
]
