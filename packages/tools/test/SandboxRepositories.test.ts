/** Repositories that a command makes, and what it leaves in those that are there: none of it runs for the user. */
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { spawnSync } from "node:child_process"
import * as fs from "node:fs"
import * as path from "node:path"
import { git, layerIn, runIn, works, world } from "./support/sandbox.ts"

/** A repository, what runs a line in it and gives the notes about it, and what the user's git runs there. */
const place = Effect.map(world, ({ at, repo, top }) => {
  const pwned = path.join(top, "pwned")
  const run = (line: string, directory = repo) => {
    const notes: Array<string> = []
    const tell = (note: string) => Effect.sync(() => void notes.push(note))
    return runIn({ directory, approved: [], tell }, line).pipe(
      Effect.map((ended) => ({ ...ended, notes: notes.join("\n") })),
      Effect.provide(layerIn(top))
    )
  }
  /** Whether a call of git by the user runs what the command has planted. */
  const runs = (directory: string, ...args: ReadonlyArray<string>) => {
    const env = { ...process.env, GIT_EDITOR: "true", GIT_CONFIG_NOSYSTEM: "1", HOME: path.join(top, "nobody") }
    spawnSync("git", ["-c", "user.name=t", "-c", "user.email=t@e.com", ...args], { cwd: directory, env })
    const isPwned = fs.existsSync(pwned)
    fs.rmSync(pwned, { force: true })
    return isPwned
  }
  const monitor = `printf '[core]\\n\\tfsmonitor = touch ${pwned}\\n'`
  return { at, monitor, pwned, repo, run, runs, top }
})

describe.skipIf(!works)("a repository that a command makes (needs bubblewrap)", () => {
  it.scopedLive("below the top runs nothing when the user calls git there", () =>
    Effect.gen(function*() {
      const { at, monitor, pwned, run, runs } = yield* place
      const hook = `printf '#!/bin/sh\\ntouch ${pwned}\\n' > .git/hooks/post-commit && chmod +x .git/hooks/post-commit`
      const lines = [
        ["one", `mkdir one; cd one; git init -q; ${monitor} >> .git/config`],
        ["lib/vendor", `mkdir -p lib/vendor; cd lib/vendor; git init -q; ${monitor} >> .git/config`],
        [".hidden", `mkdir .hidden; cd .hidden; git init -q; ${monitor} >> .git/config`],
        ["three", `git init -q three; cd three; ${hook}`],
        ["four", `git init -q four; cd four; mv .git .git2; ${monitor} >> .git2/config; mv .git2 .git`],
        [
          "five",
          `git init -q five; cp -r five other; ${monitor} >> five/.git/config; mv other x; mv five y; mv y five`
        ],
        ["six", `mkdir six; git init -q --bare sixth; ${monitor} >> sixth/config; echo 'gitdir: ../sixth' > six/.git`],
        [
          "bare",
          `git init -q --bare bare; printf '[core]\\n\\tbare = false\\n\\tworktree = .\\n' > bare/config; ${monitor} >> bare/config`
        ],
        [
          "shared",
          `git init -q --bare shared; ${monitor} > shared/config.worktree; git -C shared config extensions.worktreeConfig true; git -C shared config core.bare false`
        ],
        [
          "rebased",
          `git init -q rebased; mkdir rebased/.git/rebase-merge; echo 'exec touch ${pwned}' > rebased/.git/rebase-merge/git-rebase-todo; echo x > rebased/a; cd rebased; git add a; git -c user.name=t -c user.email=t@e.com commit -qm a; for f in onto orig-head; do git rev-parse HEAD > .git/rebase-merge/$f; done; echo refs/heads/main > .git/rebase-merge/head-name; touch .git/rebase-merge/interactive`
        ]
      ] as const
      for (const [name, line] of lines) {
        const { notes } = yield* run(line)
        expect(notes, line).toContain(`${name}/`)
        expect(notes, line).toContain("is protected")
        expect(runs(at(name), "status"), line).toBe(false)
        fs.writeFileSync(at(`${name}/file`), "x")
        for (const args of [["add", "file"], ["commit", "-qm", "x"], ["rebase", "--continue"]]) {
          expect(runs(at(name), ...args), line).toBe(false)
        }
      }
    }))

  it.scopedLive("stays if it is plain, and is protected from the next command", () =>
    Effect.gen(function*() {
      const { at, monitor, run, runs } = yield* place
      const commit = "git -c user.name=t -c user.email=t@e.com commit -q --allow-empty -m x"
      expect(
        yield* run(
          `git init -q a/b; cd a/b; ${commit}; cd ../..; git init -q --bare c; git -C a/b push -q ../../c HEAD:x`
        )
      )
        .toEqual({ code: 0, output: "", notes: "" })
      expect(yield* run(`git worktree add -q w -b w; cd w; echo w > w; git add w; ${commit}`)).toEqual({
        code: 0,
        output: "",
        notes: ""
      })
      expect(fs.existsSync(at("w/.git"))).toBe(true)
      for (const name of ["a/b/.git", "c"]) {
        const line =
          `${monitor} >> ${name}/config || echo x > ${name}/hooks/pre-commit || echo x > ${name}/config.worktree`
        expect(yield* run(line), name).not.toMatchObject({ code: 0 })
      }
      // Without a config of its own, it would get one now.
      fs.rmSync(at("a/b/.git/config"))
      expect(yield* run(`${monitor} > a/b/.git/config`)).not.toMatchObject({ code: 0 })
      expect(fs.existsSync(at("a/b/.git/config"))).toBe(false)
      expect(runs(at("a/b"), "status")).toBe(false)
      expect(yield* run(`cd a/b && ${commit}`)).toEqual({ code: 0, output: "", notes: "" })
    }))

  it.scopedLive("is left alone if it is the user's, whatever its config says, also among many", () =>
    Effect.gen(function*() {
      const { at, run } = yield* place
      const names = Array.from({ length: 60 }, (_, index) => `r${index}`)
      for (const name of names) {
        git(at("."), "init", "-q", name)
        fs.appendFileSync(at(`${name}/.git/config`), "[core]\n\tfsmonitor = true\n")
      }
      expect((yield* run("mkdir -p new/dir; echo x > r59/file")).notes).toBe("")
      expect(names.filter((name) => !fs.existsSync(at(`${name}/.git/config`)))).toEqual([])
    }))
})

describe.skipIf(!works)("a command in a sandbox, in a repository of the user (needs bubblewrap)", () => {
  it.scopedLive("puts no config into worktrees of it", () =>
    Effect.gen(function*() {
      const { at, monitor, repo, run, runs, top } = yield* place
      const tree = path.join(top, "tree")
      git(repo, "worktree", "add", "-q", tree)
      git(repo, "config", "extensions.worktreeConfig", "true")
      expect(yield* run(`${monitor} > .git/worktrees/tree/config.worktree`)).not.toMatchObject({ code: 0 })
      expect(fs.existsSync(at(".git/worktrees/tree/config.worktree"))).toBe(false)
      expect(runs(tree, "status")).toBe(false)
      const { notes } = yield* run(`git worktree add -q new; ${monitor} > .git/worktrees/new/config.worktree`)
      expect(notes).toContain(".git/worktrees/new/config.worktree is protected")
      expect(runs(at("new"), "status")).toBe(false)
    }))

  it.scopedLive("leaves no program for the user's next `git rebase --continue`", () =>
    Effect.gen(function*() {
      const { at, pwned, repo, run, runs, top } = yield* place
      const tree = path.join(top, "tree")
      git(repo, "worktree", "add", "-q", "-b", "task", tree)
      const fake = (git: string, todo: string) =>
        `G=${git}; mkdir -p $G/rebase-merge; for f in onto orig-head; do git rev-parse HEAD > $G/rebase-merge/$f; done; echo refs/heads/main > $G/rebase-merge/head-name; touch $G/rebase-merge/interactive; ${todo}`
      const todo = `echo 'exec touch ${pwned}' > $G/rebase-merge/git-rebase-todo`
      const cases = [
        [repo, repo, fake(".git", todo)],
        [repo, repo, fake(".git", `printf '\\t x touch ${pwned}\\n' > $G/rebase-merge/git-rebase-todo`)],
        [repo, repo, fake(".git", `echo '# nothing' > plan; ln -s ../../plan $G/rebase-merge/git-rebase-todo`)],
        [repo, repo, `mkdir state; ln -s ../state .git/rebase-merge; ${fake(".git", todo)}`],
        [repo, tree, fake(".git/worktrees/tree", todo)],
        [tree, tree, fake("$(git rev-parse --git-dir)", todo)]
      ] as const
      for (const [directory, user, line] of cases) {
        expect((yield* run(line, directory)).notes, line).toContain("when it continues")
        // What has another name can be changed later.
        if (fs.existsSync(at("plan"))) fs.writeFileSync(at("plan"), `exec touch ${pwned}\n`)
        expect(runs(user, "rebase", "--continue"), line).toBe(false)
        for (const name of [".git/rebase-merge", ".git/worktrees/tree/rebase-merge", "plan", "state"]) {
          fs.rmSync(at(name), { recursive: true, force: true })
        }
      }
    }))

  it.scopedLive("may continue its own rebase, and leaves what a rebase of the user runs", () =>
    Effect.gen(function*() {
      const { at, repo, run, runs, pwned } = yield* place
      git(repo, "checkout", "-qb", "topic")
      fs.writeFileSync(at("a.txt"), "topic")
      git(repo, "commit", "-qam", "topic")
      git(repo, "checkout", "-q", "main")
      fs.writeFileSync(at("a.txt"), "main")
      git(repo, "commit", "-qam", "main")
      const id = "git -c user.name=t -c user.email=t@e.com -c core.editor=true"
      const begun = yield* run(`git checkout -q topic; ${id} rebase -q main`)
      expect(begun).toMatchObject({ notes: "" })
      expect(fs.existsSync(at(".git/rebase-merge"))).toBe(true)
      const line = `echo both > a.txt; git add a.txt; ${id} rebase --continue; git log --oneline | wc -l`
      expect(yield* run(line)).toMatchObject({ code: 0, output: expect.stringMatching(/3\n$/), notes: "" })
      expect(fs.existsSync(at(".git/rebase-merge"))).toBe(false)
      // The user's own, which stops after a program has failed.
      git(repo, "reset", "-q", "--hard")
      spawnSync("git", ["rebase", "-q", "-x", "false", "-x", `touch ${pwned}`, "HEAD~1"], { cwd: repo })
      expect((yield* run("echo x > unrelated")).notes).toBe("")
      expect(runs(repo, "rebase", "--continue")).toBe(true)
    }))
})
