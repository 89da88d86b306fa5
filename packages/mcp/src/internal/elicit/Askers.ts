/** Decides which session gets a server's question: requests of servers do not name the call that they belong to. */
import type { ElicitResult } from "@modelcontextprotocol/client"
import type { Elicitation } from "./elicit.ts"

/** A call that runs, and through which the server can ask. */
interface Asker {
  /** The tree of sessions that it belongs to. */
  readonly rootID: string
  readonly ask: (params: Elicitation) => Promise<ElicitResult>
}

/** The calls of a server that run. */
export interface Askers {
  /** Adds a call; what it returns takes it out again. */
  readonly add: (asker: Asker) => () => void
  /** Asks through the newest call. If calls of several trees run, nobody knows who is meant, and nobody is asked. */
  readonly elicit: (params: Elicitation) => Promise<ElicitResult>
}

/** Makes it. */
export const makeAskers = (): Askers => {
  const running = new Set<Asker>()
  return {
    add: (asker) => {
      running.add(asker)
      return () => void running.delete(asker)
    },
    elicit: (params) => {
      const all = [...running]
      const newest = all.at(-1)
      return newest === undefined || all.some(({ rootID }) => rootID !== newest.rootID)
        ? Promise.resolve({ action: "decline" })
        : newest.ask(params)
    }
  }
}
