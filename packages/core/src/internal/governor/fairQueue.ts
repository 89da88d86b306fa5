/** Who waits for room: first come first served within a root, and the roots in turn. */
import type { SessionID } from "@skein/domain/Id"

/** A queue in which a root with many that wait does not hold up the others. */
export interface FairQueue<T> {
  readonly size: () => number
  readonly add: (item: T) => void
  /** Takes the first one of the next root whose first one may be taken. That root then comes after all others. */
  readonly take: (may?: (item: T) => boolean) => T | undefined
  /** Takes one out of the line; false where it is not in it. */
  readonly remove: (item: T) => boolean
  /** The place of one, from 1: how many are taken until it is, where nobody else comes and every root may; 0 if it does not wait. */
  readonly position: (item: T) => number
}

/** Makes a queue. */
export const makeFairQueue = <T extends { readonly rootID: SessionID }>(): FairQueue<T> => {
  /** In the order in which the roots have their turns; none is empty. */
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
