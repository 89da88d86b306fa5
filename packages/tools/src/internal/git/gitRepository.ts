/** Finds the repository of a directory. */
import { IsolationRefused } from "@skein/core/Isolation"
import * as Effect from "effect/Effect"
import { resolve } from "node:path"
import type { Git } from "./gitCommand.ts"
import { complaint, failed } from "./gitFailure.ts"

/** A repository as seen from a directory in it. */
export interface Repository {
  /** The top of the working tree that contains the directory. */
  readonly top: string
  /** The directory that all working trees of the repository share. */
  readonly common: string
  /** The directory relative to the top; empty at the top. */
  readonly inside: string
  /** The commit that is checked out. */
  readonly head: string
}

const noWorkingTree = (directory: string, stderr: string): IsolationRefused => {
  if (stderr.includes("not a git repository")) {
    return new IsolationRefused({
      reason: "not_a_repository",
      message:
        `${directory} is not in a git repository, and isolation needs one. Run \`git init\` there and commit, or leave \`isolation\` out.`
    })
  }
  if (/must be run in a work tree|cannot use bare repository/.test(stderr)) {
    return new IsolationRefused({
      reason: "not_a_repository",
      message:
        `${directory} is in a bare repository or a .git directory, where there are no files to work on. Begin in a working tree of it: \`git worktree add\` makes one.`
    })
  }
  return failed(`Could not find the repository of ${directory}: ${complaint(directory, stderr)}`)
}

/** The innermost repository of a directory. Refuses if there is none, or if it has no commit. */
export const locate = Effect.fnUntraced(function*(git: Git, directory: string) {
  // One path for each call, because a path may contain line ends.
  const { code, stderr, stdout } = yield* git.run({ directory }, ["rev-parse", "--show-toplevel"])
  if (code !== 0) return yield* noWorkingTree(directory, stderr)
  const top = stdout.replace(/\n$/, "")
  const what = `find the repository of ${directory}`
  const [common, inside, head] = yield* Effect.all([
    git.ask(what, { directory: top }, ["rev-parse", "--git-common-dir"]),
    git.ask(what, { directory }, ["rev-parse", "--show-prefix"]),
    git.run({ directory: top }, ["rev-parse", "--verify", "HEAD^{commit}"])
  ], { concurrency: "unbounded" })
  if (head.code !== 0) {
    return yield* new IsolationRefused({
      reason: "no_commits",
      message:
        `The repository ${top} has no commit to begin from. Commit what is there (\`git commit --allow-empty\` will do), or leave \`isolation\` out.`
    })
  }
  return {
    top,
    common: resolve(top, common),
    inside: inside.replace(/\/$/, ""),
    head: head.stdout.trim()
  } satisfies Repository
})
