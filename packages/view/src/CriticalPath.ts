/** Finds the work that determined the total time: any delay in it delays the end. */
import type { AgentNode } from "./AgentNode.ts"

/** A span of the path: this agent worked or waited, and everything later waited for that. */
export interface Stretch {
  readonly id: string
  readonly start: number
  readonly end: number
}

/**
 * The path, from the beginning of the root to its end, without a gap. It is found backwards: the task that ended last
 * is what an agent waited for last.
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
