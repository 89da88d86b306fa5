/** A fair queue: first come, first served within a root, and round robin between roots. */
import type { SessionID } from "@skein/domain/Id"

/** A queue in which a root with many items does not delay the other roots. */
export interface FairQueue<T> {
  readonly size: () => number
  readonly add: (item: T) => void
  /** Takes the first item of the next root whose first item `may` accepts. That root then moves behind all others. */
  readonly take: (may?: (item: T) => boolean) => T | undefined
  /** Removes an item; false if it is not queued. */
  readonly remove: (item: T) => boolean
  /**
   * The position of an item, counted from 1 and assuming that no item is added and `may` accepts all; 0 if it is not
   * queued.
   */
  readonly position: (item: T) => number
}

/** Makes a queue. */
export const makeFairQueue = <T extends { readonly rootID: SessionID }>(): FairQueue<T> => {
  /** The items of each root, in round-robin order; no list is empty. */
  const byRoot = new Map<SessionID, Array<T>>()
  let size = 0

  return {
    size: () => size,
    add: (item) => {
      size++
      const siblings = byRoot.get(item.rootID)
      if (siblings === undefined) byRoot.set(item.rootID, [item])
      else siblings.push(item)
    },
    take: (may) => {
      for (const [rootID, siblings] of byRoot) {
        const [first] = siblings
        if (may !== undefined && first !== undefined && !may(first)) continue
        byRoot.delete(rootID)
        siblings.shift()
        if (siblings.length > 0) byRoot.set(rootID, siblings)
        size--
        return first
      }
      return undefined
    },
    remove: (item) => {
      const siblings = byRoot.get(item.rootID) ?? []
      const at = siblings.indexOf(item)
      if (at < 0) return false
      siblings.splice(at, 1)
      if (siblings.length === 0) byRoot.delete(item.rootID)
      size--
      return true
    },
    position: (item) => {
      const before = byRoot.get(item.rootID)?.indexOf(item) ?? -1
      if (before < 0) return 0
      let ahead = before
      let rounds = before + 1
      for (const [rootID, others] of byRoot) {
        if (rootID === item.rootID) rounds--
        else ahead += Math.min(others.length, rounds)
      }
      return ahead + 1
    }
  }
}
