/** Knows the other servers of the cluster: a page whose server goes away offers them. */
import { signal } from "@preact/signals"
import type { Cluster } from "@skein/api/Output"
import { ask } from "./api.ts"

/** Whether this server is one of several. */
export const isInCluster = signal(false)

/** The URLs of the others, as they were when this server answered last. */
export const others = signal<ReadonlyArray<string>>([])

/** Learns from what a server says about its cluster. */
export const learnFrom = ({ runners }: Cluster): void => {
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
