/** The format `json`: every event of the tree as a line, and the result as the last line. */
import type { Streams } from "../../Stdio.ts"
import type { Presenter } from "./presenter.ts"

/** Makes the presenter. */
export const json = (stdio: Streams): Presenter => {
  const write = (value: unknown) => stdio.out(`${JSON.stringify(value)}\n`)
  return {
    deltas: true,
    begin: () => undefined,
    event: write,
    note: () => undefined,
    hook: () => undefined,
    end: write
  }
}
