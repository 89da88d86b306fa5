/** Waits for what no event tells of: other processes, and what they write. */
import { setTimeout as sleep } from "node:timers/promises"

/** Looks again and again; a test that waits in vain fails by its own timeout. */
export const until = async <A>(look: () => A | undefined | false): Promise<A> => {
  for (;;) {
    const found = look()
    if (found !== undefined && found !== false) return found
    await sleep(20)
  }
}
