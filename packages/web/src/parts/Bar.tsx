/** Draws the bar at the top, and the notice below it while the server does not answer. */
import { now } from "../state/clock.ts"
import { isInCluster, others } from "../state/ClusterStore.ts"
import { connection, current, heard, isOld } from "../state/current.ts"
import { login } from "../state/login.ts"
import { route } from "../state/route.ts"
import type { Connection } from "../state/stream.ts"
import { TreeStore } from "../state/TreeStore.ts"

const words: Record<Connection, string> = {
  connecting: "Connecting",
  live: "Live",
  stale: "Stale",
  reconnecting: "Reconnecting",
  disconnected: "Disconnected",
  closed: "Disconnected"
}

const hints: Partial<Record<Connection, string>> = {
  stale: "nothing has arrived for some seconds; what you see may be old",
  reconnecting: "what you see may be old",
  disconnected: "the server does not answer; what you see may be old. The page retries every few seconds"
}

const Badge = () => {
  const state = connection.value
  return (
    <p class={`badge ${state}`} role="status" title={hints[state]}>
      <span class="dot" aria-hidden="true" />
      {words[state]}
    </p>
  )
}

const Crumb = () => {
  const store = current.value
  if (!(store instanceof TreeStore)) return null
  void store.revision.value
  return <span class="crumb">{store.tree?.root.title ?? "Session"}</span>
}

/** The bar. */
export const Bar = () => (
  <header class="bar">
    <a class="home" href="/" aria-current={route.value.page === "home" ? "page" : undefined}>Skein</a>
    <Crumb />
    {login.value === "in" && isInCluster.value && (
      <a href="/cluster" aria-current={route.value.page === "cluster" ? "page" : undefined}>Servers</a>
    )}
    <span class="grow" />
    {login.value === "in" && <a class="button" href="/s/new">New session</a>}
    {login.value === "in" && <Badge />}
  </header>
)

const timeOf = (milliseconds: number): string => new Date(milliseconds).toLocaleTimeString()

/** The time at which the server was heard last, as it is shown. */
export const heardTime = (): string => timeOf(heard.value)

/** The notice; nothing while the server answers. */
export const Old = () => {
  // Evaluated once a second, because a server that is silent changes nothing.
  void now.value
  void connection.value
  if (!isOld.value) return null
  const { pathname, search } = location
  return (
    <div class="notice problem" role="alert">
      The server {location.host} does not answer. What you see is as it was at {heardTime()}.
      {others.value.length > 0 && (
        <>
          {" "}Other servers of the cluster go on:{" "}
          <ul class="others">
            {others.value.map((url) => (
              <li key={url}>
                <a href={`${url}${pathname}${search}`} target="_self">{url.replace(/^https?:\/\//, "")}</a>
              </li>
            ))}
          </ul>
        </>
      )}
    </div>
  )
}
