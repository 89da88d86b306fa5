/** Polls for what no event reports: other processes, and their files. */
import { setTimeout as sleep } from "node:timers/promises"

/** Polls a condition; a test that waits too long fails by its own timeout. */
export const until = async <A>(look: () => A | Promise<A | undefined | false> | undefined | false): Promise<A> => {
  for (;;) {
    const found = await look()
    if (found !== undefined && found !== false) return found
    await sleep(20)
  }
}
