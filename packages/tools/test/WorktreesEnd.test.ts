import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as NodeFs from "node:fs"
import * as NodePaths from "node:path"
import { ground, task } from "./repository.ts"

/** A repository with one open worktree. */
const opened = Effect.gen(function*() {
  const all = yield* ground
  const repo = all.repository()
  const before = all.possessions(repo)
  const workspace = yield* all.open({ directory: repo, taskID: task(1), description: "Try it out" })
  const inside = (...path: ReadonlyArray<string>) => NodePaths.join(workspace.root, ...path)
  return { ...all, repo, before, workspace, inside }
})

describe("closing", () => {
  it.scoped("removes a worktree without changes, with its branch", () =>
    Effect.gen(function*() {
      const { before, close, inside, list, possessions, repo, traces } = yield* opened
      expect(NodeFs.existsSync(inside("a.txt"))).toBe(true)
      expect(yield* close(task(1))).toEqual({ kept: false })
      expect(traces(repo)).toEqual([])
      expect(possessions(repo)).toEqual(before)
      expect(yield* list).toEqual([])
      expect(yield* Effect.flip(close(task(1)))).toMatchObject({ reason: "not_found" })
    }))

  it.scoped("keeps one with nothing but ignored files, and names them; a person removes it without force", () =>
    Effect.gen(function*() {
      const { close, inside, remove, repo, traces } = yield* opened
      NodeFs.writeFileSync(inside("x.log"), "ignored\n")
      expect(yield* close(task(1))).toMatchObject({
        kept: true,
        commits: 0,
        uncommitted: 0,
        diffStat: " 1 ignored: x.log"
      })
      expect(NodeFs.readFileSync(inside("x.log"), "utf8")).toBe("ignored\n")
      yield* remove(task(1))
      expect(traces(repo)).toEqual([])
    }))

  it.scoped("keeps one whose work was stashed, and says so", () =>
    Effect.gen(function*() {
      const { close, git, inside, repo, workspace } = yield* opened
      NodeFs.writeFileSync(inside("a.txt"), "stashed\n")
      git(workspace.root, "stash")
      expect(yield* close(task(1))).toMatchObject({
        kept: true,
        uncommitted: 0,
        diffStat: " 1 stash: see `git stash list`"
      })
      expect(git(repo, "stash", "list")).toContain("skein/ses_1")
    }))

  it.scoped("keeps one with changes, and says what they are", () =>
    Effect.gen(function*() {
      const { close, commit, inside, list, repo, workspace } = yield* opened
      NodeFs.writeFileSync(inside("a.txt"), "a\nmore\n")
      commit(workspace.root, "of the task")
      NodeFs.writeFileSync(inside("sub", "b.txt"), "other\n")
      NodeFs.writeFileSync(inside("new.txt"), "new\n")
      const end = {
        commits: 1,
        onlyHere: 1,
        uncommitted: 2,
        diffStat: [
          " a.txt     | 1 +",
          " sub/b.txt | 2 +-",
          " 2 files changed, 2 insertions(+), 1 deletion(-)",
          " 1 untracked: new.txt"
        ].join("\n")
      }
      const kept = { kept: true, branch: "skein/ses_1", directory: workspace.root, ...end }
      expect(yield* close(task(1))).toEqual(kept)
      expect(yield* close(task(1))).toEqual(kept)
      expect(NodeFs.readFileSync(inside("new.txt"), "utf8")).toBe("new\n")
      expect(yield* list).toEqual([{
        taskID: task(1),
        directory: workspace.root,
        branch: "skein/ses_1",
        origin: {
          description: "Try it out",
          repository: repo,
          repositoryExists: true,
          base: workspace.base,
          created: 0
        },
        changes: end
      }])
    }))

  const changes: ReadonlyArray<
    readonly [string, (the: Effect.Effect.Success<typeof opened>) => void, object]
  > = [
    ["a staged change", ({ git, inside, workspace }) => {
      NodeFs.writeFileSync(inside("a.txt"), "2\n")
      git(workspace.root, "add", "-A")
    }, { uncommitted: 1 }],
    ["a deleted file", ({ inside }) => NodeFs.rmSync(inside("a.txt")), { uncommitted: 1 }],
    ["a mode", ({ inside }) => NodeFs.chmodSync(inside("a.txt"), 0o755), { uncommitted: 1 }],
    ["a file that the user's settings do not show", ({ git, inside, repo }) => {
      git(repo, "config", "status.showUntrackedFiles", "no")
      NodeFs.writeFileSync(inside("new.txt"), "")
    }, { uncommitted: 1, diffStat: " 1 untracked: new.txt" }],
    ["a repository that the task made in it", ({ git, inside }) => {
      NodeFs.mkdirSync(inside("new"))
      git(inside("new"), "init", "-q")
      git(inside("new"), "commit", "-q", "--allow-empty", "-m", "one")
    }, { uncommitted: 1, diffStat: " 1 untracked: new/" }],
    ["a commit without a change", ({ git, workspace }) => {
      git(workspace.root, "commit", "-q", "--allow-empty", "-m", "empty")
    }, { commits: 1, onlyHere: 1 }],
    ["a commit on a branch that the task made", ({ git, workspace }) => {
      git(workspace.root, "checkout", "-q", "-b", "better-name")
      git(workspace.root, "commit", "-q", "--allow-empty", "-m", "empty")
    }, { branch: "better-name", commits: 1, onlyHere: 0 }],
    ["a commit on no branch", ({ git, workspace }) => {
      git(workspace.root, "checkout", "-q", "--detach")
      git(workspace.root, "commit", "-q", "--allow-empty", "-m", "empty")
      git(workspace.root, "branch", "-D", "skein/ses_1")
    }, { commits: 1, onlyHere: 1 }]
  ]
  for (const [what, change, end] of changes) {
    it.scoped(`keeps ${what}`, () =>
      Effect.gen(function*() {
        const all = yield* opened
        change(all)
        expect(yield* all.close(task(1))).toMatchObject({ kept: true, ...end })
        expect(NodeFs.existsSync(all.workspace.root)).toBe(true)
      }))
  }

  it.scoped("keeps the branch of a worktree whose files were deleted, where it has commits", () =>
    Effect.gen(function*() {
      const { close, commit, git, inside, open, repo, traces, workspace } = yield* opened
      NodeFs.writeFileSync(inside("a.txt"), "2\n")
      const head = commit(workspace.root, "of the task")
      NodeFs.rmSync(workspace.root, { recursive: true })
      expect(yield* close(task(1))).toMatchObject({ kept: true, branch: "skein/ses_1", commits: 1, uncommitted: 0 })
      expect(git(repo, "rev-parse", "skein/ses_1")).toBe(head)

      const { root } = yield* open({ directory: repo, taskID: task(2), description: "" })
      NodeFs.rmSync(root, { recursive: true })
      expect(yield* close(task(2))).toEqual({ kept: false })
      expect(traces(repo).filter((path) => path.includes("ses_2"))).toEqual([])
    }))

  it.scoped("leaves the branch to a user who has checked it out", () =>
    Effect.gen(function*() {
      const { close, git, repo, traces, workspace } = yield* opened
      NodeFs.rmSync(workspace.root, { recursive: true })
      git(repo, "worktree", "prune")
      git(repo, "checkout", "-q", "skein/ses_1")
      expect(yield* close(task(1))).toEqual({ kept: false })
      expect(git(repo, "status", "--porcelain", "--branch")).toBe("## skein/ses_1")
      expect(traces(repo)).toEqual(["refs/heads/skein/ses_1"])
    }))

  it.scoped("leaves a worktree to a user who has moved it", () =>
    Effect.gen(function*() {
      const { at, close, git, list, repo, workspace } = yield* opened
      git(repo, "worktree", "move", workspace.root, at("mine now"))
      expect(yield* close(task(1))).toEqual({ kept: false })
      expect(yield* list).toEqual([])
      expect(git(at("mine now"), "status", "--porcelain", "--branch")).toBe("## skein/ses_1")
    }))
})

describe("what a task left in its worktree", () => {
  it.scoped("runs no program and is not believed", () =>
    Effect.gen(function*() {
      const { at, close, commit, git, inside, list, open, remove, repo, workspace, write } = yield* opened
      const program = at("program")
      write("program", `#!/bin/sh\ntouch '${at("ran")}'\ncat\n`)
      NodeFs.chmodSync(program, 0o755)
      const arm = (repository: string) => {
        for (const key of ["core.fsmonitor", "filter.x.clean", "diff.x.textconv", "diff.external"]) {
          git(repository, "config", key, program)
        }
      }
      // The worktree belongs to a repository of the task's making by now, and its submodule as well.
      git(workspace.root, "init", "-q", at("evil"))
      arm(at("evil"))
      NodeFs.mkdirSync(inside("module"))
      git(inside("module"), "init", "-q")
      NodeFs.writeFileSync(inside("module", ".gitattributes"), "* filter=x diff=x\n")
      commit(inside("module"), "module")
      git(workspace.root, "update-index", "--add", "--cacheinfo", `160000,${workspace.base},module`)
      arm(inside("module"))
      NodeFs.writeFileSync(inside("module", "x"), "x")
      NodeFs.writeFileSync(inside(".git"), `gitdir: ${at("evil", ".git")}\n`)
      NodeFs.writeFileSync(inside(".gitattributes"), "* filter=x diff=x\n")
      NodeFs.writeFileSync(inside("a.txt"), "changed\n")

      expect(yield* close(task(1))).toMatchObject({ kept: true, branch: "skein/ses_1" })
      expect(yield* list).toMatchObject([{ changes: { commits: 0 } }])
      expect(yield* Effect.flip(remove(task(1)))).toMatchObject({ reason: "has_changes" })
      yield* open({ directory: repo, taskID: task(1), description: "" })
      expect(git(workspace.root, "rev-parse", "--git-common-dir")).toBe(at("repo", ".git"))
      expect(NodeFs.existsSync(at("ran"))).toBe(false)
    }))

  it.scoped("is not written through", () =>
    Effect.gen(function*() {
      const { at, inside, open, repo, write } = yield* opened
      write("precious", "of the user\n")
      NodeFs.rmSync(inside(".git"))
      NodeFs.symlinkSync(at("precious"), inside(".git"))
      yield* open({ directory: repo, taskID: task(1), description: "" })
      expect(NodeFs.readFileSync(at("precious"), "utf8")).toBe("of the user\n")
    }))
})

describe("listing and removing", () => {
  it.scoped("removes one without changes, and refuses one with changes unless forced", () =>
    Effect.gen(function*() {
      const { before, commit, inside, list, open, possessions, remove, repo, traces, workspace } = yield* opened
      NodeFs.writeFileSync(inside("a.txt"), "2\n")
      commit(workspace.root, "of the task")
      NodeFs.writeFileSync(inside("new 1"), "")
      NodeFs.writeFileSync(inside("new 2"), "")
      yield* open({ directory: repo, taskID: task(2), description: "nothing done" })
      expect((yield* list).map(({ changes, taskID }) => [taskID, changes === "none"])).toEqual([
        [task(1), false],
        [task(2), true]
      ])
      yield* remove(task(2))
      const refused = yield* Effect.flip(remove(task(1)))
      expect(refused.reason).toBe("has_changes")
      expect(refused.message).toContain("1 commit and 2 uncommitted changes would be lost")
      expect(refused.message).toContain(workspace.root)
      expect(NodeFs.existsSync(inside("new 1"))).toBe(true)
      yield* remove(task(1), { force: true })
      expect(traces(repo)).toEqual([])
      expect(possessions(repo)).toEqual(before)
      expect(yield* Effect.flip(remove(task(1)))).toMatchObject({ reason: "not_found" })
      expect(yield* Effect.flip(remove(task("x/../../../../repo")))).toMatchObject({ reason: "not_found" })
    }))

  it.scoped("removes one whose commits the user has taken, for nothing is lost", () =>
    Effect.gen(function*() {
      const { commit, git, inside, remove, repo, traces, workspace } = yield* opened
      NodeFs.writeFileSync(inside("a.txt"), "2\n")
      const head = commit(workspace.root, "of the task")
      git(repo, "merge", "-q", "--ff-only", "skein/ses_1")
      yield* remove(task(1))
      expect(traces(repo)).toEqual([])
      expect(git(repo, "rev-parse", "HEAD")).toBe(head)
    }))

  it.scoped("tells of a worktree whose repository is gone, and removes it only by force", () =>
    Effect.gen(function*() {
      const { close, inside, list, remove, repo, workspace } = yield* opened
      NodeFs.rmSync(repo, { recursive: true })
      expect(yield* list).toMatchObject([{ origin: { repository: repo, repositoryExists: false }, changes: "unknown" }])
      expect(yield* Effect.flip(close(task(1)))).toMatchObject({ reason: "failed" })
      expect(yield* Effect.flip(remove(task(1)))).toMatchObject({ reason: "has_changes" })
      expect(NodeFs.existsSync(inside("a.txt"))).toBe(true)
      yield* remove(task(1), { force: true })
      expect(NodeFs.existsSync(workspace.root)).toBe(false)
      expect(yield* list).toEqual([])
    }))

  it.scoped("tells of one whose record cannot be read", () =>
    Effect.gen(function*() {
      const { close, inside, list, open, remove, repo, workspace } = yield* opened
      NodeFs.writeFileSync(`${workspace.root}.json`, "{\"version\": 2}")
      expect(yield* list).toEqual([{
        taskID: task(1),
        directory: workspace.root,
        branch: "skein/ses_1",
        changes: "unknown"
      }])
      expect(yield* Effect.flip(close(task(1)))).toMatchObject({ reason: "failed" })
      expect(yield* Effect.flip(open({ directory: repo, taskID: task(1), description: "" }))).toMatchObject({
        reason: "failed"
      })
      expect(yield* Effect.flip(remove(task(1)))).toMatchObject({ reason: "has_changes" })
      NodeFs.rmSync(`${workspace.root}.json`)
      expect(yield* list).toMatchObject([{ changes: "unknown" }])
      expect(NodeFs.existsSync(inside("a.txt"))).toBe(true)
      yield* remove(task(1), { force: true })
      expect(yield* list).toEqual([])
    }))

  it.scoped("has nothing to tell where there was no task", () =>
    Effect.gen(function*() {
      const { at, list, write } = yield* ground
      expect(yield* list).toEqual([])
      write("data/worktrees/README", "not ours")
      write("data/worktrees/0123456789abcdef/notes.txt", "not ours")
      expect(yield* list).toEqual([])
      expect(NodeFs.existsSync(at("data", "worktrees", "README"))).toBe(true)
    }))
})
