/** Owns the open store: one list or one tree with one connection, while its page is shown. */
import { computed, effect, signal } from "@preact/signals"
import { now } from "./clock.ts"
import { ClusterStore, learnServers } from "./ClusterStore.ts"
import { HomeStore } from "./HomeStore.ts"
import { login } from "./login.ts"
import { route } from "./route.ts"
import type { Connection } from "./stream.ts"
import { TreeStore } from "./TreeStore.ts"

/** The store of the current page; undefined without a login. */
export const current = signal<ClusterStore | HomeStore | TreeStore | undefined>(undefined)

/** The state of the connection. */
export const connection = computed((): Connection => current.value?.connection.state.value ?? "closed")

/** When the server was heard last. */
export const heard = computed((): number => current.value?.connection.heard.value ?? 0)

/** How long a server may be unheard while its connection is bad, in milliseconds. */
const patience = 5_000

/** Whether what is shown is old, because the server does not answer. */
export const isOld = computed((): boolean => {
  const { value: state } = connection
  if (state === "disconnected" || state === "stale") return true
  return state === "reconnecting" && now.value - heard.value >= patience
})

/** What the store of the current route is about: a session, the servers, or undefined for all sessions. */
const subject = computed(() => {
  const { value: to } = route
  return to.page === "session" ? to.session : to.page === "cluster" ? "cluster" : undefined
})

const subjectOf = (store: ClusterStore | HomeStore | TreeStore): string | undefined =>
  store instanceof HomeStore ? undefined : store.id

const open = (id: string | undefined): ClusterStore | HomeStore | TreeStore =>
  id === undefined ? new HomeStore() : id === "cluster" ? new ClusterStore() : new TreeStore(id)

/** Opens the store of each route, and closes the previous one. */
export const startStores = (): void => {
  effect(() => {
    if (login.value === "in" && connection.value === "live") void learnServers()
  })
  effect(() => {
    const id = subject.value
    const isIn = login.value === "in"
    const before = current.peek()
    if (isIn && before !== undefined && subjectOf(before) === id) return
    before?.close()
    current.value = isIn ? open(id) : undefined
  })
}
