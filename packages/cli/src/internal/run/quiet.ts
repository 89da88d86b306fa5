/** The format `quiet`: shows only the answer. */
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
