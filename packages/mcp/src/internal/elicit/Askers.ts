/** Decides which call a server's question belongs to. */
import type { ElicitResult } from "@modelcontextprotocol/client"
import { AsyncLocalStorage } from "node:async_hooks"
import type { Elicitation } from "./elicit.ts"

/** A call that runs, and through which the server can ask. */
export interface Asker {
  /** The tree of sessions that it belongs to. */
  readonly rootID: string
  readonly ask: (params: Elicitation) => Promise<ElicitResult>
}

/** The calls of a server that run. */
export interface Askers {
  /** Adds a call; what it returns takes it out again. */
  readonly add: (asker: Asker) => () => void
  /** Makes a call: a question that comes with its answer is known to be its own. */
  readonly within: <A>(asker: Asker, call: () => A) => A
  /**
   * Asks through the call that the question belongs to. A question on a connection of all calls does not name its own: it
   * goes to the newest one. If calls of several trees run, it is not known who is meant, and nobody is asked.
   */
  readonly elicit: (params: Elicitation) => Promise<ElicitResult>
}

/** Makes it. */
export const makeAskers = (): Askers => {
  const running = new Set<Asker>()
  const current = new AsyncLocalStorage<Asker>()
  return {
    add: (asker) => {
      running.add(asker)
      return () => void running.delete(asker)
    },
    within: (asker, call) => current.run(asker, call),
    elicit: (params) => {
      const own = current.getStore()
      if (own !== undefined && running.has(own)) return own.ask(params)
      const all = [...running]
      const newest = all.at(-1)
      return newest === undefined || all.some(({ rootID }) => rootID !== newest.rootID)
        ? Promise.resolve({ action: "decline" })
        : newest.ask(params)
    }
  }
}
