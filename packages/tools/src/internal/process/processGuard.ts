/** Owns which process groups end with this process, however that ends. */
import { signalGroup, signalStrays, strays } from "../processes.ts"
import { killMarked } from "./processMarks.ts"

/** The leaders of the groups, and the marks of what they have started. */
const guarded = new Map<number, string | undefined>()

const endGuarded = (): void => {
  for (const leader of guarded.keys()) {
    const left = strays(leader)
    signalGroup(leader, "SIGKILL")
    signalStrays(left, "SIGKILL")
  }
  const marks = new Set([...guarded.values()].filter((mark) => mark !== undefined))
  if (marks.size > 0) killMarked(marks)
}

/** Has a process group end with this process, also where that ends at once; gives what takes this back. */
export const guard = (leader: number, mark?: string): () => void => {
  if (guarded.size === 0) process.on("exit", endGuarded)
  guarded.set(leader, mark)
  return () => {
    guarded.delete(leader)
    if (guarded.size === 0) process.off("exit", endGuarded)
  }
}
