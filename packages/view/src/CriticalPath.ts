/** Finds which work decided how long the whole took: without it, the end would have come earlier. */
import type { AgentNode } from "./AgentNode.ts"

/** A stretch of the path: this agent worked, or waited, and everything after it waited for that. */
export interface Stretch {
  readonly id: string
  readonly start: number
  readonly end: number
}

/**
 * The path, from the beginning of the root to its end, without a gap. It is found from the end: an agent waited last for the
 * task that ended last.
 */
export const criticalPath = (root: AgentNode, now: number): ReadonlyArray<Stretch> => {
  const path: Array<Stretch> = []
  const follow = (node: AgentNode, from: number, until: number): void => {
    let end = until
    const tasks = node.children
      .map((child) => ({ child, ended: Math.min(child.ended ?? now, until) }))
      .toSorted((a, b) => b.ended - a.ended)
    for (const { child, ended } of tasks) {
      const began = Math.max(child.began, from)
      if (ended > end || began >= ended) continue
      if (end > ended) path.push({ id: node.id, start: ended, end })
      follow(child, began, ended)
      end = began
    }
    if (end > from) path.push({ id: node.id, start: from, end })
  }
  follow(root, root.began, Math.max(root.began, root.ended ?? now))
  return path.toReversed()
}
