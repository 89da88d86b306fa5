/** Knows whether the storage answers, from the requests that this process sends to it anyway. */
import * as Context from "effect/Context"

/** What is wrong with the storage. */
export interface StorageTrouble {
  /** Since when nothing can be read or stored, in milliseconds since 1970. */
  readonly since: number
}

/** Whether the storage answers. */
export class StorageHealth extends Context.Tag("@skein/core/StorageHealth")<StorageHealth, {
  /** What is wrong now; undefined if it answers. A storage that was not asked for anything counts as well. */
  readonly trouble: () => StorageTrouble | undefined
  /** Calls a function whenever that begins or ends, within a second. Observe it until you call the returned function. */
  readonly onChange: (notify: (trouble: StorageTrouble | undefined) => void) => () => void
}>() {}
