/** The format `quiet`: nothing of a run is shown but its answer. */
import type { Streams } from "../../Stdio.ts"
import { type Presenter, writeAnswer } from "./presenter.ts"

/** Makes the presenter. */
export const quiet = (stdio: Streams): Presenter => ({
  deltas: false,
  begin: () => undefined,
  event: () => undefined,
  note: () => undefined,
  hook: () => undefined,
  end: (result) => writeAnswer(stdio, result)
})
