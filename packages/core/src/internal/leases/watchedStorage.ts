/** Watches every request to the storage: when it began, whether it has ended, and whether the storage was to blame. */
import type * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type { SessionStorage } from "../../SessionStorage.ts"
import type { StorageError } from "../../StorageError.ts"

/** The kinds of requests. A database that is full still reads, and one whose commits wait still renews leases. */
export type Lane = "commits" | "renewals" | "reads"

/** Watches one request. */
export type Watch = <A>(lane: Lane, request: Effect.Effect<A, StorageError>) => Effect.Effect<A, StorageError>

type Storage = Context.Tag.Service<SessionStorage>

/** The same storage, watched. Pruning takes as long as it takes, so nothing follows from that. */
export const watchedStorage = (storage: Storage, watch: Watch): Storage => ({
  commit: (writes, onStored) =>
    watch(writes.every(({ _tag }) => _tag === "Renew") ? "renewals" : "commits", storage.commit(writes, onStored)),
  ...(storage.intact === undefined ? {} : { intact: storage.intact }),
  ...(storage.mail === undefined ? {} : { mail: watch("reads", storage.mail) }),
  waiting: (rootID) => watch("reads", storage.waiting(rootID)),
  control: (id) => watch("reads", storage.control(id)),
  unfinished: watch("reads", storage.unfinished),
  session: (id) => watch("reads", storage.session(id)),
  ids: (of, start, limit) => watch("reads", storage.ids(of, start, limit)),
  lease: (rootID) => watch("reads", storage.lease(rootID)),
  leases: (rootIDs) => watch("reads", storage.leases(rootIDs)),
  sessions: (filter) => watch("reads", storage.sessions(filter)),
  messages: (id) => watch("reads", storage.messages(id)),
  messagePage: (id, page) => watch("reads", storage.messagePage(id, page)),
  run: (id) => watch("reads", storage.run(id)),
  runs: (filter) => watch("reads", storage.runs(filter)),
  inbox: (id) => watch("reads", storage.inbox(id)),
  events: (filter) => watch("reads", storage.events(filter)),
  eventRange: (rootID) => watch("reads", storage.eventRange(rootID)),
  receipt: (key) => watch("reads", storage.receipt(key)),
  prune: storage.prune,
  approvals: (projectID, rootID) => watch("reads", storage.approvals(projectID, rootID)),
  todos: (id) => watch("reads", storage.todos(id))
})
