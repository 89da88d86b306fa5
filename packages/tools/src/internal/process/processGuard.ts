/** Owns which process groups end with this process, however it ends. */
import { signalGroup, signalStrays, strays } from "../processes.ts"
import { killMarked } from "./processMarks.ts"

/** The leaders of the groups, and the marks of their processes. */
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

/** Ends a process group with this process, even if that exits immediately. Returns how to undo this. */
export const guard = (leader: number, mark?: string): () => void => {
  if (guarded.size === 0) process.on("exit", endGuarded)
  guarded.set(leader, mark)
  return () => {
    guarded.delete(leader)
    if (guarded.size === 0) process.off("exit", endGuarded)
  }
}
