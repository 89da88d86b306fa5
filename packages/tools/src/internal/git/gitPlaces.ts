/** The directories of a worktree, and how git is pointed at them without trusting what a task left there. */
import type { SessionID } from "@skein/domain/Id"
import { join } from "node:path"
import type { GitPlace } from "./gitCommand.ts"
import type { Entry } from "./gitRecord.ts"

/** A worktree of a repository. */
export interface WorktreePlace {
  readonly taskID: SessionID
  /** The top of the worktree. */
  readonly root: string
  readonly file: string
  /** The directory that all working trees of the repository share. */
  readonly common: string
  /** The repository's data about this worktree: its HEAD and index. */
  readonly own: string
  readonly branch: string
  readonly ref: string
  /** Git at the repository, independent of all working trees. */
  readonly shared: GitPlace
  /** Git in the worktree, whatever its `.git` file says by now. */
  readonly inside: GitPlace
}

/** The branch of a task. */
export const branchOf = (taskID: SessionID): string => `skein/${taskID}`

/** The worktree of an entry. */
export const placeOf = (
  { file, root, taskID }: Pick<Entry, "file" | "root" | "taskID">,
  common: string
): WorktreePlace => {
  const own = join(common, "worktrees", taskID)
  const branch = branchOf(taskID)
  const variables = (directory: string, tree: string) => ({
    GIT_DIR: directory,
    GIT_COMMON_DIR: common,
    GIT_WORK_TREE: tree
  })
  return {
    taskID,
    root,
    file,
    common,
    own,
    branch,
    ref: `refs/heads/${branch}`,
    shared: { directory: common, variables: variables(common, common) },
    inside: { directory: root, variables: variables(own, root) }
  }
}
