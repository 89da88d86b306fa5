import { describe, expect, it } from "@effect/vitest"
import { Isolation } from "@skein/core/Isolation"
import * as Effect from "effect/Effect"
import * as NodeFs from "node:fs"
import * as NodePaths from "node:path"
import { ground, task } from "./repository.ts"

const of = (directory: string, name: string | number = "1") => ({
  directory,
  taskID: task(name),
  description: `task ${name}`
})

describe("opening", () => {
  it.scoped("makes a worktree of HEAD on a branch of its own, at the caller's place in it", () =>
    Effect.gen(function*() {
      const { at, commit, git, open, repository } = yield* ground
      const repo = repository()
      NodeFs.writeFileSync(at("repo", "a.txt"), "second\n")
      const head = commit(repo, "two")
      const workspace = yield* open(of(at("repo", "sub")))
      expect(workspace).toEqual({
        directory: NodePaths.join(workspace.root, "sub"),
        root: workspace.root,
        branch: "skein/ses_1",
        base: head,
        gitDirectory: at("repo", ".git"),
        omits: []
      })
      expect(NodePaths.relative(at("data", "worktrees"), workspace.root)).toMatch(/^[0-9a-f]{16}\/ses_1$/)
      expect(NodeFs.readFileSync(NodePaths.join(workspace.root, "a.txt"), "utf8")).toBe("second\n")
      expect(git(workspace.directory, "rev-parse", "--abbrev-ref", "HEAD")).toBe("skein/ses_1")
      expect(git(workspace.directory, "status", "--porcelain")).toBe("")
    }))

  it.scoped("leaves all that the user has as it is, and says what of it is not in the worktree", () =>
    Effect.gen(function*() {
      const { at, close, git, open, possessions, remove, repository, write } = yield* ground
      const repo = repository()
      write("repo/a.txt", "stashed\n")
      git(repo, "stash")
      write("repo/a.txt", "staged\n")
      git(repo, "add", "a.txt")
      write("repo/a.txt", "staged, and changed again\n")
      write("repo/new file", "untracked\n")
      write("repo/x.log", "ignored\n")
      git(repo, "branch", "other")
      git(repo, "config", "branch.autoSetupMerge", "always")
      git(repo, "config", "user.note", "mine")
      write("repo/.git/hooks/post-checkout", `#!/bin/sh\ntouch '${at("hook")}'\n`)
      write("repo/.git/hooks/reference-transaction", `#!/bin/sh\ntouch '${at("hook")}'\n`)
      for (const hook of ["post-checkout", "reference-transaction"]) {
        NodeFs.chmodSync(at("repo", ".git", "hooks", hook), 0o755)
      }
      write("program", `#!/bin/sh\ntouch '${at("hook")}'\n`)
      NodeFs.chmodSync(at("program"), 0o755)
      git(repo, "config", "core.fsmonitor", at("program"))
      // Git would note in the index that this file is unchanged.
      NodeFs.utimesSync(at("repo", "sub", "b.txt"), 1, 1)
      const before = possessions(repo)
      NodeFs.rmSync(at("hook"), { force: true })
      const { omits, root } = yield* open(of(repo))
      expect(possessions(repo)).toEqual(before)
      expect(omits).toEqual(["2 uncommitted changes of the caller's tree are not in it"])
      expect(NodeFs.readFileSync(NodePaths.join(root, "a.txt"), "utf8")).toBe("a\n")
      NodeFs.writeFileSync(NodePaths.join(root, "a.txt"), "of the task\n")
      expect(yield* close(task(1))).toMatchObject({ kept: true })
      expect(possessions(repo)).toEqual(before)
      yield* remove(task(1), { force: true })
      expect(possessions(repo)).toEqual(before)
      expect(NodeFs.existsSync(at("hook"))).toBe(false)
    }))

  it.scoped("begins where a detached HEAD stands", () =>
    Effect.gen(function*() {
      const { commit, git, open, possessions, repository, write } = yield* ground
      const repo = repository()
      const first = git(repo, "rev-parse", "HEAD")
      write("repo/a.txt", "2\n")
      commit(repo, "two")
      git(repo, "checkout", "-q", first)
      const before = possessions(repo)
      expect((yield* open(of(repo))).base).toBe(first)
      expect(possessions(repo)).toEqual(before)
    }))

  it.scoped("takes the innermost repository", () =>
    Effect.gen(function*() {
      const { at, open, possessions, repository, write } = yield* ground
      const repo = repository()
      const nested = repository("repo/nested")
      write("repo/nested/deep/x", "not committed, so not there\n")
      const before = [possessions(repo), possessions(nested)]
      const workspace = yield* open(of(at("repo", "nested", "deep")))
      expect(workspace.gitDirectory).toBe(at("repo", "nested", ".git"))
      expect(workspace.directory).toBe(NodePaths.join(workspace.root, "deep"))
      expect(NodeFs.readdirSync(workspace.directory)).toEqual([])
      expect([possessions(repo), possessions(nested)]).toEqual(before)
    }))

  it.scoped("leaves submodules empty and says so, and works inside of one", () =>
    Effect.gen(function*() {
      const { at, close, commit, git, open, possessions, repository, traces } = yield* ground
      repository("lib")
      const repo = repository()
      git(repo, "submodule", "--quiet", "add", "../lib", "the lib")
      commit(repo, "with a submodule")
      const before = possessions(repo)
      const outer = yield* open(of(repo, "outer"))
      expect(outer.omits).toEqual(["1 submodule may be empty in it: the lib"])
      expect(NodeFs.readdirSync(NodePaths.join(outer.root, "the lib"))).toEqual([])
      const inner = yield* open(of(at("repo", "the lib", "sub"), "inner"))
      expect(inner.gitDirectory).toBe(at("repo", ".git", "modules", "the lib"))
      expect(NodeFs.readdirSync(inner.directory)).toEqual(["b.txt"])
      expect(possessions(repo)).toEqual(before)

      expect(yield* close(task("inner"))).toEqual({ kept: false })
      NodeFs.writeFileSync(NodePaths.join(outer.root, "the lib", "work"), "of the task")
      expect(yield* close(task("outer"))).toMatchObject({ kept: true, uncommitted: 1 })
      NodeFs.rmSync(NodePaths.join(outer.root, "the lib", "work"))
      expect(yield* close(task("outer"))).toEqual({ kept: false })
      expect([...traces(repo), ...traces(at("repo", "the lib"))]).toEqual([])
    }))

  it.scoped("isolates from within a worktree, also one of a bare repository", () =>
    Effect.gen(function*() {
      const { at, commit, git, open, possessions, repository } = yield* ground
      const repo = repository()
      const outer = yield* open(of(repo, "outer"))
      NodeFs.writeFileSync(NodePaths.join(outer.root, "a.txt"), "of the outer task\n")
      const head = commit(outer.root, "outer")
      const before = possessions(repo)
      const inner = yield* open(of(outer.directory, "inner"))
      expect(inner).toMatchObject({ base: head, gitDirectory: outer.gitDirectory, omits: [] })
      expect(NodePaths.dirname(inner.root)).toBe(NodePaths.dirname(outer.root))
      expect(NodeFs.readFileSync(NodePaths.join(inner.root, "a.txt"), "utf8")).toBe("of the outer task\n")
      expect(possessions(repo)).toEqual(before)

      git(at(), "clone", "-q", "--bare", repo, "bare.git")
      git("bare.git", "worktree", "add", "-q", "../tree", "main")
      expect(yield* open(of(at("tree", "sub"), "bare"))).toMatchObject({ gitDirectory: at("bare.git"), omits: [] })
    }))

  it.scoped("takes paths with spaces, quotes, line ends and any script", () =>
    Effect.gen(function*() {
      const { at, close, open, possessions, repository, traces, write } = yield* ground
      const name = "a b'\"\n$HOME ☃ 日本語"
      const repo = repository(name)
      const before = possessions(repo)
      write(`${name}/sub/-x\n`, "untracked\n")
      const workspace = yield* open(of(at(name, "sub")))
      expect(NodeFs.readdirSync(workspace.directory)).toEqual(["b.txt"])
      NodeFs.writeFileSync(NodePaths.join(workspace.root, "né\nw"), "")
      expect(yield* close(task(1))).toMatchObject({ kept: true, uncommitted: 1, diffStat: " 1 untracked: \"né\\nw\"" })
      NodeFs.rmSync(NodePaths.join(workspace.root, "né\nw"))
      expect(yield* close(task(1))).toEqual({ kept: false })
      NodeFs.rmSync(at(name, "sub", "-x\n"))
      expect(possessions(repo)).toEqual(before)
      expect(traces(repo)).toEqual([])
    }))

  it.scoped("works in the worktree also where the caller's directory leads out of it", () =>
    Effect.gen(function*() {
      const { at, commit, open, repository } = yield* ground
      const repo = repository()
      NodeFs.mkdirSync(at("outside"))
      NodeFs.symlinkSync(at("outside"), at("repo", "link"))
      commit(repo, "a link")
      NodeFs.rmSync(at("repo", "link"))
      NodeFs.mkdirSync(at("repo", "link"))
      const workspace = yield* open(of(at("repo", "link")))
      expect(workspace.directory).toBe(workspace.root)
    }))
})

describe("opening again", () => {
  it.scoped("gives the same worktree with all that is in it", () =>
    Effect.gen(function*() {
      const { commit, git, open, repository, write } = yield* ground
      const repo = repository()
      const first = yield* open(of(repo))
      NodeFs.writeFileSync(NodePaths.join(first.root, "a.txt"), "half done\n")
      write("repo/a.txt", "2\n")
      commit(repo, "two")
      // A task can write over anything in its worktree.
      NodeFs.rmSync(NodePaths.join(first.root, ".git"))
      expect(yield* open(of(repo))).toEqual({
        ...first,
        omits: ["1 newer commit of the caller's branch is not in it"]
      })
      expect(git(first.root, "status", "--porcelain")).toBe("M a.txt")
    }))

  it.scoped("takes up the branch of one whose files were deleted, and begins anew where there is none", () =>
    Effect.gen(function*() {
      const { commit, git, open, possessions, repository, write } = yield* ground
      const repo = repository()
      const first = yield* open(of(repo))
      NodeFs.writeFileSync(NodePaths.join(first.root, "a.txt"), "committed by the task\n")
      commit(first.root, "of the task")
      const before = possessions(repo)
      NodeFs.rmSync(first.root, { recursive: true })
      expect(yield* open(of(repo))).toEqual(first)
      expect(NodeFs.readFileSync(NodePaths.join(first.root, "a.txt"), "utf8")).toBe("committed by the task\n")
      expect(possessions(repo)).toEqual(before)

      NodeFs.rmSync(first.root, { recursive: true })
      git(repo, "worktree", "prune")
      git(repo, "branch", "-D", first.branch)
      write("repo/a.txt", "2\n")
      const head = commit(repo, "two")
      expect(yield* open(of(repo))).toEqual({ ...first, base: head })
      expect(NodeFs.readFileSync(NodePaths.join(first.root, "a.txt"), "utf8")).toBe("2\n")
    }))

  it.scoped("never forgets the user's own worktrees, though their directories are not there", () =>
    Effect.gen(function*() {
      const { at, close, git, open, repository, traces } = yield* ground
      const repo = repository()
      git(repo, "worktree", "add", "-q", "-b", "mine", at("stick"))
      NodeFs.renameSync(at("stick"), at("unplugged"))
      const { root } = yield* open(of(repo))
      NodeFs.rmSync(root, { recursive: true })
      yield* open(of(repo))
      yield* close(task(1))
      NodeFs.renameSync(at("unplugged"), at("stick"))
      expect(git(at("stick"), "status", "--porcelain")).toBe("")
      expect(traces(repo)).toEqual(["stick"])
    }))
})

describe("a refusal", () => {
  const refusals: ReadonlyArray<
    readonly [
      what: string,
      reason: string,
      says: string,
      prepare: (the: Effect.Effect.Success<typeof ground>) => string
    ]
  > = [
    ["no repository", "not_a_repository", "is not in a git repository", ({ at }) => at("home")],
    ["a bare repository", "not_a_repository", "bare repository", ({ at, git, repository }) => {
      git(at(), "clone", "-q", "--bare", repository(), "bare.git")
      return at("bare.git")
    }],
    [
      "a .git directory",
      "not_a_repository",
      "`git worktree add`",
      ({ repository }) => NodePaths.join(repository(), ".git")
    ],
    ["no commit", "no_commits", "git commit --allow-empty", ({ at, git }) => {
      NodeFs.mkdirSync(at("empty"))
      git("empty", "init", "-q")
      return at("empty")
    }],
    ["no such directory", "not_found", "There is no directory", ({ at }) => at("nowhere")],
    ["a branch of that name", "failed", "git branch -m skein/ses_1 NAME", ({ git, repository }) => {
      git(repository(), "branch", "skein/ses_1")
      return "repo"
    }],
    ["a branch that takes the name of all ours", "failed", "refs/heads/skein", ({ git, repository }) => {
      git(repository(), "branch", "skein")
      return "repo"
    }],
    ["a broken index", "failed", "index file", ({ repository, write }) => {
      repository()
      write("repo/.git/index", "nonsense")
      return "repo"
    }],
    ["a data directory that cannot be written", "failed", "XDG_DATA_HOME", ({ repository, write }) => {
      write("data", "a file")
      return repository()
    }]
  ]
  for (const [what, reason, says, prepare] of refusals) {
    it.scoped(`names ${what}, says how to mend it, and leaves nothing behind`, () =>
      Effect.gen(function*() {
        const all = yield* ground
        const directory = NodePaths.resolve(all.top, prepare(all))
        const before = NodeFs.readdirSync(all.top, { recursive: true, encoding: "utf8" }).filter((path) =>
          !path.includes("objects")
        )
        const refused = yield* Effect.flip(all.open(of(directory)))
        expect(refused.reason).toBe(reason)
        expect(refused.message).toContain(says)
        const after = NodeFs.readdirSync(all.top, { recursive: true, encoding: "utf8" }).filter((path) =>
          !path.includes("objects")
        )
        expect(after.filter((path) => !/^data(\/worktrees(\/[0-9a-f]{16})?)?$/.test(path)))
          .toEqual(before.filter((path) => path !== "data"))
        expect(yield* Effect.orElseSucceed(all.list, () => [])).toEqual([])
      }))
  }

  it.scoped("names git where there is none", () =>
    Effect.gen(function*() {
      const { at, program, repository } = yield* ground
      const repo = repository()
      const refused = yield* Effect.flip(
        Effect.flatMap(Isolation, ({ open }) => open(of(repo))).pipe(Effect.provide(program({ path: at("home") })))
      )
      expect(refused).toMatchObject({ reason: "git_missing" })
      expect(refused.message).toContain("skein doctor")
    }))
})
