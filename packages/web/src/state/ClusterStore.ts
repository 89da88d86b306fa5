/**
 * Owns the servers of a cluster: a page whose server goes away offers the others, and all of them are read once a
 * second while their page is shown.
 */
import { signal } from "@preact/signals"
import type { Cluster } from "@skein/api/Output"
import { ask, messageOf, RequestFailed } from "./api.ts"
import { pause, read } from "./clock.ts"
import type { Connection } from "./stream.ts"

/** Whether this server is one of several. */
export const isInCluster = signal(false)

/** The URLs of the others, as they were when this server answered last. */
export const others = signal<ReadonlyArray<string>>([])

/** Learns from what a server says about its cluster. */
const learnFrom = ({ runners }: Cluster): void => {
  const found = runners.filter(({ state, url }) => state === "alive" && url !== location.origin).map(({ url }) => url)
  if (found.join(" ") !== others.peek().join(" ")) others.value = found
}

/** Asks whether there is a cluster, and who is in it. What is known stays if no answer comes. */
export const learnServers = async (): Promise<void> => {
  const about = await ask<{ readonly cluster: boolean }>("GET", "/v1/server").catch(() => undefined)
  if (about === undefined) return
  const cluster = about.cluster ? await ask<Cluster>("GET", "/v1/cluster").catch(() => undefined) : undefined
  if (cluster !== undefined) learnFrom(cluster)
  // Where it is shown, the others are known.
  isInCluster.value = about.cluster
}

/** How often they are read, in milliseconds: the servers say once or twice a second that they are there. */
const pace = 1_000

/** How long a server may take to answer, in milliseconds. */
const patience = 5_000

/** The servers. */
export class ClusterStore {
  readonly id = "cluster"
  readonly revision = signal(0)
  readonly problem = signal<string | undefined>(undefined)
  /** Questions are shown at home. */
  readonly asks = { all: [] }
  readonly connection = { state: signal<Connection>("connecting"), heard: signal(read()) }
  status: Cluster | undefined
  readonly #end = new AbortController()

  constructor() {
    void this.#run()
  }

  /** Closes it. */
  close(): void {
    this.#end.abort()
    this.connection.state.value = "closed"
  }

  async #run(): Promise<void> {
    const { signal: ended } = this.#end
    let failures = 0
    while (!ended.aborted) {
      try {
        const late = AbortSignal.any([ended, AbortSignal.timeout(patience)])
        this.status = await ask<Cluster>("GET", "/v1/cluster", { signal: late })
        learnFrom(this.status)
        failures = 0
        this.connection.heard.value = read()
        this.problem.value = undefined
        this.connection.state.value = "live"
        this.revision.value++
      } catch (error) {
        if (ended.aborted) return
        failures++
        // This server may be the one that is gone: it is asked until it is back.
        if (error instanceof RequestFailed && error.status > 0) this.problem.value = messageOf(error)
        this.connection.state.value = failures > 2 ? "disconnected" : "reconnecting"
        if (error instanceof RequestFailed && error.status === 404) return
      }
      await pause(pace, ended)
    }
  }
}
