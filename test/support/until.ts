/** Polls for what no event reports: other processes, and their files. */
import { setTimeout as sleep } from "node:timers/promises"

/** More looks than any test has time for: 20 ms lie between two. */
const mostLooks = 15_000

/** Polls a condition. A test that waits too long fails by its own timeout, and the polling ends some time after it. */
export const until = async <A>(look: () => A | Promise<A | undefined | false> | undefined | false): Promise<A> => {
  for (let looks = 0; looks < mostLooks; looks += 1) {
    const found = await look()
    if (found !== undefined && found !== false) return found
    await sleep(20)
  }
  throw new Error(`This did not come true within ${mostLooks} looks: ${look.toString()}`)
}
