/** Owns the open store: one list or one tree with one connection, while its page is shown. */
import { computed, effect, signal } from "@preact/signals"
import { HomeStore } from "./HomeStore.ts"
import { login } from "./login.ts"
import { route } from "./route.ts"
import type { Connection } from "./stream.ts"
import { TreeStore } from "./TreeStore.ts"

/** The store of the current page; undefined without a login. */
export const current = signal<HomeStore | TreeStore | undefined>(undefined)

/** The state of the connection. */
export const connection = computed((): Connection => current.value?.connection.state.value ?? "closed")

/** The session of the current route; undefined at home. */
const session = computed(() => route.value.page === "session" ? route.value.session : undefined)

/** Opens the store of each route, and closes the previous one. */
export const startStores = (): void => {
  effect(() => {
    const id = session.value
    const isIn = login.value === "in"
    const before = current.peek()
    if (isIn && before !== undefined && (before instanceof TreeStore ? before.id : undefined) === id) return
    before?.close()
    current.value = !isIn ? undefined : id === undefined ? new HomeStore() : new TreeStore(id)
  })
}
