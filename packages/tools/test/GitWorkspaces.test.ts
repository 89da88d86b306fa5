import * as NodeContext from "@effect/platform-node/NodeContext"
import { describe, expect, it } from "@effect/vitest"
import type { ToolCaller } from "@skein/core/Tool"
import { type TreeStep, Workspaces } from "@skein/core/Workspaces"
import type { SessionID } from "@skein/domain/Id"
import * as GitWorkspaces from "@skein/tools/GitWorkspaces"
import { Paths } from "@skein/tools/Paths"
import { SpillFiles } from "@skein/tools/SpillFiles"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Queue from "effect/Queue"
import * as TestClock from "effect/TestClock"
import { execFileSync } from "node:child_process"
import * as NodeFs from "node:fs"
import * as NodePaths from "node:path"
import { ground } from "./repository.ts"

const rootID = "ses_01abc" as SessionID
const ref = `refs/skein/${rootID}`

/** A repository with a remote, and keepers of several hosts. */
const world = Effect.gen(function*() {
  const base = yield* ground
  const { at, environment, git, repository } = base
  const directory = repository()
  const remote = at("remote.git")
  git(".", "init", "-q", "--bare", remote)
  const keeper = (host: string, options: { readonly isOn?: boolean; readonly remote?: string | undefined } = {}) =>
    Effect.map(
      Layer.build(GitWorkspaces.layer({
        dataDirectory: at(`data-${host}`),
        environment,
        isOn: true,
        remote,
        ...options
      })),
      Context.get(Workspaces)
    )
  const step = (more: Partial<TreeStep> = {}): TreeStep => ({
    rootID,
    directory,
    workspace: { remote, inside: "" },
    epoch: 1,
    seq: 1,
    ...more
  })
  /** Keeps a step, and waits until it is pushed; gives why it is not. */
  const kept = (workspaces: typeof Workspaces.Service, of: TreeStep) =>
    Effect.gen(function*() {
      const told = yield* Deferred.make<string | undefined>()
      yield* workspaces.keep(of, (failure) => Effect.asVoid(Deferred.succeed(told, failure)))
      return yield* Deferred.await(told)
    })
  const message = () => git(remote, "log", "-1", "--format=%B", ref)
  return { ...base, directory, remote, keeper, step, kept, message }
})

const filesOf = (directory: string) => NodeFs.readdirSync(directory).toSorted()

describe("keeping", () => {
  it.scoped("changes nothing that the user has, and runs nothing that their repository names", () =>
    Effect.gen(function*() {
      const { at, directory, git, keeper, kept, message, possessions, remote, step, write } = yield* world
      write("program", `#!/bin/sh\ntouch '${at("ran")}'\ncat\n`)
      NodeFs.chmodSync(at("program"), 0o755)
      for (const hook of ["pre-push", "post-index-change", "reference-transaction"]) {
        write(`repo/.git/hooks/${hook}`, `#!/bin/sh\ntouch '${at("ran")}'\n`)
        NodeFs.chmodSync(at("repo", ".git", "hooks", hook), 0o755)
      }
      write("repo/.gitattributes", "*.txt filter=evil diff=evil\n")
      git(directory, "config", "core.excludesFile", at("excludes"))
      write("excludes", "*.mine\n")
      write("repo/.git/info/exclude", "secret.env\n")
      write("repo/.gitignore", "*.log\n")
      git(directory, "add", ".gitignore", ".gitattributes")
      git(directory, "commit", "-qm", "two")
      git(directory, "config", "filter.evil.clean", at("program"))
      git(directory, "config", "core.fsmonitor", at("program"))
      git(directory, "config", "core.sshCommand", at("program"))
      git(directory, "config", "credential.helper", `!${at("program")}`)
      write("repo/secret.env", "hidden\n")
      write("repo/x.log", "ignored\n")
      write("repo/x.mine", "ignored\n")
      write("repo/a.txt", "changed\n")
      write("repo/new/file", "new\n")
      NodeFs.rmSync(at("repo", "sub", "b.txt"))
      const before = possessions(directory)
      // Git itself runs the filter for the user.
      NodeFs.rmSync(at("ran"), { force: true })
      const workspaces = yield* keeper("one")
      expect(yield* kept(workspaces, step({ epoch: 3, seq: 17 }))).toBeUndefined()
      expect(NodeFs.existsSync(at("ran"))).toBe(false)
      expect(git(remote, "ls-tree", "-r", "--name-only", ref).split("\n")).toEqual([
        ".gitattributes",
        ".gitignore",
        "a.txt",
        "new/file"
      ])
      expect(git(remote, "show", `${ref}:a.txt`)).toBe("changed")
      expect(message()).toContain(`Skein-Root: ${rootID}\nSkein-Epoch: 3\nSkein-Seq: 17\nSkein-Branch: main`)
      expect(git(remote, "rev-parse", `${ref}^`)).toBe(git(directory, "rev-parse", "HEAD"))
      expect(git(remote, "for-each-ref", "--format=%(refname)")).toBe(ref)
      expect(possessions(directory)).toEqual(before)
      expect(NodeFs.statSync(at("data-one", "steps", `${rootID}.git`)).mode & 0o077).toBe(0)
    }))

  it.scoped("never looks into repositories within the repository, which an agent may have made", () =>
    Effect.gen(function*() {
      const { at, directory, git, keeper, kept, remote, repository, step, write } = yield* world
      write("program", `#!/bin/sh\ntouch '${at("ran")}'\n`)
      NodeFs.chmodSync(at("program"), 0o755)
      for (const inner of ["repo/new", "repo/linked"]) {
        repository(inner)
        git(inner, "config", "core.fsmonitor", at("program"))
      }
      git(directory, "add", "linked")
      git(directory, "commit", "-qm", "two")
      NodeFs.rmSync(at("ran"), { force: true })
      const workspaces = yield* keeper("one")
      for (const seq of [1, 2]) {
        write("repo/linked/a.txt", `changed ${seq}\n`)
        write("repo/new/a.txt", `changed ${seq}\n`)
        write("repo/a.txt", `${seq}\n`)
        expect(yield* kept(workspaces, step({ seq }))).toBeUndefined()
      }
      expect(git(remote, "ls-tree", "-r", "--name-only", ref).split("\n")).toEqual([
        ".gitignore",
        "a.txt",
        "linked",
        "sub/b.txt"
      ])
      expect(NodeFs.existsSync(at("ran"))).toBe(false)
    }))

  it.scoped("follows commits, deletions, and files that are tracked although they are ignored", () =>
    Effect.gen(function*() {
      const { at, commit, directory, git, keeper, kept, remote, step, write } = yield* world
      const workspaces = yield* keeper("one")
      expect(yield* kept(workspaces, step())).toBeUndefined()
      write("repo/.gitignore", "*.log\n")
      write("repo/x.log", "tracked\n")
      git(directory, "add", "-f", "x.log")
      const head = commit(directory, "two")
      NodeFs.rmSync(at("repo", "a.txt"))
      // A git that was killed leaves its lock.
      write(`data-one/steps/${rootID}.git/index.lock`, "")
      expect(yield* kept(workspaces, step({ seq: 2 }))).toBeUndefined()
      expect(git(remote, "ls-tree", "-r", "--name-only", ref).split("\n")).toEqual([".gitignore", "sub/b.txt", "x.log"])
      expect(git(remote, "rev-parse", `${ref}^`)).toBe(head)
    }))

  it.scoped("says why a step is not there, and says it when the next one is", () =>
    Effect.gen(function*() {
      const { directory, keeper, kept, message, remote, step } = yield* world
      const workspaces = yield* keeper("one")
      expect(yield* kept(workspaces, step())).toBeUndefined()
      NodeFs.renameSync(remote, `${remote}.away`)
      expect(yield* kept(workspaces, step({ seq: 2 }))).toMatch(
        /^Could not push to refs\/skein\/ses_01abc of .*remote.git/
      )
      NodeFs.renameSync(`${remote}.away`, remote)
      const other = yield* keeper("two")
      expect(yield* kept(other, step({ seq: 3 }))).toBeUndefined()
      expect(message()).toContain("Skein-Seq: 3")
      NodeFs.renameSync(NodePaths.join(directory, ".git"), NodePaths.join(directory, "git"))
      expect(yield* kept(workspaces, step({ seq: 4 }))).toMatch(/not a git repository/)
    }))

  it.scoped("says that a later holder has the tree, although pushes have failed before", () =>
    Effect.gen(function*() {
      const { keeper, kept, message, remote, step } = yield* world
      const [one, two] = [yield* keeper("one"), yield* keeper("two")]
      expect(yield* kept(one, step({ seq: 5 }))).toBeUndefined()
      NodeFs.renameSync(remote, `${remote}.away`)
      const told = yield* Queue.unbounded<string | undefined>()
      yield* one.keep(step({ seq: 6 }), (failure) => Effect.asVoid(told.offer(failure)))
      expect(yield* told.take).toMatch(/^Could not push/)
      NodeFs.renameSync(`${remote}.away`, remote)
      expect(yield* kept(two, step({ epoch: 2, seq: 5 }))).toBeUndefined()
      yield* TestClock.adjust("1 second")
      expect(yield* told.take).toMatch(/holds a step of another server/)
      expect(message()).toContain("Skein-Epoch: 2")
    }))

  it.scoped("never replaces the step of a later holder", () =>
    Effect.gen(function*() {
      const { keeper, kept, message, step } = yield* world
      const [one, two] = [yield* keeper("one"), yield* keeper("two")]
      expect(yield* kept(one, step({ epoch: 1, seq: 5 }))).toBeUndefined()
      expect(yield* kept(two, step({ epoch: 2, seq: 3 }))).toBeUndefined()
      expect(yield* kept(one, step({ epoch: 1, seq: 9 }))).toMatch(/holds a step of another server/)
      expect(message()).toContain("Skein-Epoch: 2\nSkein-Seq: 3")
    }))
})

describe("fetching", () => {
  it.scoped("makes a workspace with the files of the step, as they were", () =>
    Effect.gen(function*() {
      const { at, directory, git, keeper, kept, step, write } = yield* world
      git(directory, "checkout", "-q", "-b", "feature/x")
      write("repo/sub/b.txt", "changed\n")
      write("repo/sub/run.sh", "#!/bin/sh\n")
      NodeFs.chmodSync(at("repo", "sub", "run.sh"), 0o755)
      const one = yield* keeper("one")
      const inside = step({ directory: at("repo", "sub"), workspace: { ...step().workspace, inside: "sub" } })
      expect(yield* kept(one, inside)).toBeUndefined()
      const two = yield* keeper("two")
      const fetched = yield* two.fetch(rootID, inside.workspace)
      expect(fetched).toMatchObject({ epoch: 1, seq: 1, directory: NodePaths.join(fetched.top, "sub") })
      expect(filesOf(fetched.directory)).toEqual(["b.txt", "run.sh"])
      expect(NodeFs.statSync(NodePaths.join(fetched.directory, "run.sh")).mode & 0o111).not.toBe(0)
      expect(git(fetched.top, "branch", "--show-current")).toBe("feature/x")
      expect(git(fetched.top, "status", "--porcelain")).toBe("M sub/b.txt\n?? sub/run.sh")
      expect(git(fetched.top, "rev-parse", "HEAD")).toBe(git(directory, "rev-parse", "HEAD"))
      expect(NodeFs.statSync(fetched.top).mode & 0o077).toBe(0)
    }))

  it.scoped("makes a workspace in which tools work, and shows them nothing else of Skein's own", () =>
    Effect.gen(function*() {
      const { at, keeper, kept, step } = yield* world
      const [one, two] = [yield* keeper("one"), yield* keeper("two")]
      expect(yield* kept(one, step())).toBeUndefined()
      const { directory } = yield* two.fetch(rootID, step().workspace)
      expect(yield* kept(two, step({ directory, epoch: 2 }))).toBeUndefined()
      const data = at("data-two")
      const decided = (given: string) =>
        Effect.flatMap(
          Paths,
          ({ decide }) => decide(given, { directory, sessionID: rootID } as unknown as ToolCaller)
        )
      const store = at("data-two", "steps", `${rootID}.git`)
      yield* Effect.gen(function*() {
        for (const given of ["a.txt", "c.txt", "sub/new.txt", `${directory}/c.txt`]) {
          expect(yield* decided(given)).toMatchObject({ place: "inside", protected: false })
        }
        expect(yield* decided(".git/config")).toMatchObject({ place: "inside", protected: true })
        for (const given of [`${store}/config`, `${store}/index`, "../../../steps", "../../../skein.db"]) {
          expect(yield* Effect.flip(decided(given)), given).toMatchObject({ kind: "own_file" })
        }
      }).pipe(
        Effect.provide(
          Paths.layer({ home: at("home"), own: [data], dataDirectory: data }).pipe(
            Layer.provide(SpillFiles.layer(data)),
            Layer.provide(NodeContext.layer)
          )
        )
      )
    }))

  it.scoped("works without a commit, and without a branch", () =>
    Effect.gen(function*() {
      const { git, keeper, kept, repository, step, write, at } = yield* world
      const [one, two] = [yield* keeper("one"), yield* keeper("two")]
      git(repository("loose"), "checkout", "-q", "--detach")
      expect(yield* kept(one, step({ directory: at("loose") }))).toBeUndefined()
      const loose = yield* two.fetch(rootID, step().workspace)
      expect(git(loose.top, "rev-parse", "HEAD")).toBe(git("loose", "rev-parse", "HEAD"))
      expect(git(loose.top, "branch", "--list", "main")).toBe("")
      expect(git(loose.top, "status", "--porcelain")).toBe("")
      write("empty/x.txt", "x\n")
      git("empty", "init", "-q")
      const other = "ses_02abc" as SessionID
      expect(yield* kept(one, step({ rootID: other, directory: at("empty") }))).toBeUndefined()
      const empty = yield* two.fetch(other, step().workspace)
      expect(git(empty.top, "status", "--porcelain")).toBe("?? x.txt")
    }))

  it.scoped("a claim keeps earlier holders from keeping more, and fails if one was faster", () =>
    Effect.gen(function*() {
      const { keeper, kept, message, step, write } = yield* world
      const [one, two] = [yield* keeper("one"), yield* keeper("two")]
      const { workspace } = step()
      expect(yield* kept(one, step({ seq: 5 }))).toBeUndefined()
      const early = yield* two.fetch(rootID, workspace)
      write("repo/a.txt", "later\n")
      expect(yield* kept(one, step({ seq: 6 }))).toBeUndefined()
      expect((yield* Effect.flip(two.claim(rootID, workspace, early, 2))).reason).toBe("superseded")
      yield* two.discard(early)
      expect(NodeFs.existsSync(early.top)).toBe(false)
      const late = yield* two.fetch(rootID, workspace)
      yield* two.claim(rootID, workspace, late, 2)
      expect(message()).toContain("Skein-Epoch: 2\nSkein-Seq: 6")
      expect(yield* kept(one, step({ seq: 7 }))).toMatch(/holds a step of another server/)
      expect(yield* kept(two, step({ directory: late.directory, epoch: 2, seq: 8 }))).toBeUndefined()
      expect(message()).toContain("Skein-Epoch: 2\nSkein-Seq: 8")
    }))

  it.scoped("refuses what is not a step of the session, and leaves nothing behind", () =>
    Effect.gen(function*() {
      const { at, directory, git, keeper, kept, remote, step } = yield* world
      const [one, two] = [yield* keeper("one"), yield* keeper("two")]
      const refused = (id: SessionID, workspace = step().workspace) => Effect.flip(two.fetch(id, workspace))
      expect((yield* refused(rootID)).reason).toBe("nothing")
      git(directory, "push", "-q", remote, `HEAD:${ref}`)
      expect((yield* refused(rootID)).message).toContain("holds no step of this session")
      expect(yield* kept(one, step({ rootID: "ses_02abc" as SessionID }))).toBeUndefined()
      git(remote, "update-ref", ref, "refs/skein/ses_02abc")
      expect((yield* refused(rootID)).message).toContain("holds no step of this session")
      for (const url of ["ext::sh -c id", "--upload-pack=id", `file://${remote}`, at("repo")]) {
        expect((yield* refused(rootID, { remote: url, inside: "" })).message).toContain("is not used")
      }
      expect((yield* refused("ses_../../heads/main" as SessionID)).message).toContain("is not the id of a session")
      expect(filesOf(at("data-two", "workspaces", rootID))).toEqual([])
    }))

  it.scoped("refuses a directory that leads out of the workspace", () =>
    Effect.gen(function*() {
      const { at, commit, directory, keeper, kept, step } = yield* world
      NodeFs.symlinkSync(at("home"), at("repo", "link"))
      commit(directory, "two")
      const [one, two] = [yield* keeper("one"), yield* keeper("two")]
      expect(yield* kept(one, step())).toBeUndefined()
      for (const inside of ["link", "../home", "../.."]) {
        const { message } = yield* Effect.flip(two.fetch(rootID, { ...step().workspace, inside }))
        expect(message).toMatch(/leads to|is not in the repository/)
      }
      expect(filesOf(at("data-two", "workspaces", rootID))).toEqual([])
    }))

  it.scoped("is refused where the user did not ask for it", () =>
    Effect.gen(function*() {
      const { keeper, step } = yield* world
      const two = yield* keeper("two", { isOn: false })
      expect((yield* Effect.flip(two.fetch(rootID, step().workspace))).reason).toBe("off")
    }))
})

describe("the repository of a new session", () => {
  it.scoped("is that of its remote, without passwords; a directory only if the user names it", () =>
    Effect.gen(function*() {
      const { at, directory, git, keeper, remote } = yield* world
      const one = yield* keeper("one")
      const origin = (named?: string, of = directory) =>
        one.origin(of, { workspace: "git", ...(named === undefined ? {} : { workspace_remote: named }) })
      expect(yield* origin()).toBeUndefined()
      git(directory, "remote", "add", "origin", "https://ada:secret@git.example/b.git")
      git(directory, "remote", "add", "local", at("elsewhere.git"))
      git(directory, "remote", "add", "evil", "ext::sh -c id")
      expect(yield* origin()).toEqual({ remote: "https://git.example/b.git", inside: "" })
      expect(yield* origin(undefined, at("repo", "sub"))).toEqual({
        remote: "https://git.example/b.git",
        inside: "sub"
      })
      expect(yield* origin(remote)).toEqual({ remote, inside: "" })
      for (const named of ["local", "evil", "missing", "ext::sh", "-f"]) expect(yield* origin(named)).toBeUndefined()
      expect(yield* one.origin(directory, {})).toBeUndefined()
      expect(yield* origin(undefined, at("home"))).toBeUndefined()
    }))

  it.scoped("is none where not all files could be kept", () =>
    Effect.gen(function*() {
      const { at, directory, git, keeper } = yield* world
      const one = yield* keeper("one")
      git(directory, "remote", "add", "origin", "https://git.example/b.git")
      git(directory, "worktree", "add", "-q", at("linked"))
      const origin = (of: string) => one.origin(of, { workspace: "git" })
      expect(yield* origin(at("linked"))).toBeUndefined()
      expect(yield* origin(directory)).toBeDefined()
      git(directory, "config", "core.sparseCheckout", "true")
      expect(yield* origin(directory)).toBeUndefined()
    }))
})

it.scoped("what is kept of a deleted session is removed", () =>
  Effect.gen(function*() {
    const { at, git, keeper, kept, remote, step } = yield* world
    yield* Effect.scoped(Effect.gen(function*() {
      const one = yield* keeper("one")
      expect(yield* kept(one, step())).toBeUndefined()
      yield* one.forget(rootID, step().workspace)
    }))
    // The end of a keeper waits for it.
    expect(git(remote, "for-each-ref")).toBe("")
    expect(filesOf(at("data-one", "steps"))).toEqual([])
  }))

it.scoped("what is kept of a deleted session is removed after the push that is under way", () =>
  Effect.gen(function*() {
    const { at, git, keeper, kept, remote, step } = yield* world
    const [began, goes] = [at("began"), at("goes")]
    for (const fifo of [began, goes]) execFileSync("mkfifo", [fifo])
    const hook = NodePaths.join(remote, "hooks", "pre-receive")
    // Only the push of this tree waits.
    NodeFs.writeFileSync(
      hook,
      `#!/bin/sh\nread old new ref\ncase "$ref $new" in "${ref} "*[!0]*) echo >'${began}' && cat '${goes}' ;; esac\nexit 0\n`
    )
    NodeFs.chmodSync(hook, 0o755)
    const one = yield* keeper("one")
    yield* one.keep(step(), () => Effect.void)
    yield* Effect.promise(() => NodeFs.promises.readFile(began))
    yield* one.forget(rootID, step().workspace)
    // Meanwhile, a removal that did not wait would have ended.
    expect(yield* kept(one, step({ rootID: "ses_02abc" as SessionID }))).toBeUndefined()
    yield* Effect.promise(() => NodeFs.promises.writeFile(goes, ""))
    yield* one.settled
    expect(git(remote, "for-each-ref", "--format=%(refname)")).toBe("refs/skein/ses_02abc")
  }))
