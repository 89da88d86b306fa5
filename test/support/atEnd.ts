import { onTestFinished } from "vitest"

/** Runs these when the test that calls has ended, whatever its end: the last one first. */
export const atEnd = (...ends: ReadonlyArray<() => unknown>): void => {
  for (const end of ends) {
    onTestFinished(async () => {
      await end()
    })
  }
}
