/** A git command that has to replace protected files is asked for as a whole, before git begins. */
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as fs from "node:fs"
import { git, layerIn, runIn, works, world } from "./support/sandbox.ts"
import { Workspace } from "./workspace.ts"

/** A repository with branches: `same` differs in ordinary files from `main`, `other` in protected ones as well. */
const prepare = (repo: string, write: (name: string, text: string) => void) => {
  git(repo, "init", "-q", "-b", "main")
  write("AGENTS.md", "one")
  write("a.txt", "one")
  git(repo, "add", ".")
  git(repo, "commit", "-qm", "first")
  git(repo, "checkout", "-q", "-b", "other")
  write(".husky/pre-commit", "two")
  write("AGENTS.md", "two")
  git(repo, "add", ".")
  git(repo, "commit", "-qm", "other")
  git(repo, "checkout", "-q", "-b", "same", "main")
  write("a.txt", "two")
  git(repo, "commit", "-qam", "same")
  git(repo, "checkout", "-q", "main")
}

describe("a git command that replaces protected files", () => {
  it.effect("is a question of its own, which only a person answers", () =>
    Effect.gen(function*() {
      const { asks, repo, write } = yield* Workspace
      prepare(repo, write)
      const replaced = (command: string) =>
        Effect.map(asks("bash", { command }), (all) => {
          const found = all.find(({ permission }) => permission === "bash_write")
          if (found === undefined) return undefined
          expect(found, command).toMatchObject({ patterns: [command], protected: true, always: [] })
          return String(found.metadata["reason"]).replace("Git would replace protected files: ", "").replace(/\.$/, "")
        })
      const both = ".husky/pre-commit, AGENTS.md"
      for (
        const [line, expected] of [
          ["git checkout other", both],
          ["git checkout -q other && npm test", both],
          ["git switch other", both],
          ["git -c x.y=z checkout other", both],
          ["cd . && git reset --hard other", both],
          ["git merge other", both],
          ["git cherry-pick other", both],
          ["git rebase other", both],
          ["git restore --source=other .", both],
          ["git restore --source=other -- a.txt", undefined],
          ["git bisect start", "AGENTS.md"],
          ["git am x.patch", "AGENTS.md"],
          ["git pull", "AGENTS.md"],
          ["git rebase --continue", "AGENTS.md"],
          ["git rm -r .", "AGENTS.md"],
          ["git checkout $BRANCH", "AGENTS.md"],
          ["git checkout same", undefined],
          ["git checkout -b new", undefined],
          ["git merge same", undefined],
          ["git rebase same", undefined],
          ["git reset other", undefined],
          ["git checkout -- a.txt", undefined],
          ["git stash", undefined],
          ["git stash list", undefined],
          ["git commit -am x", undefined],
          ["git status", undefined],
          ["git log other", undefined]
        ] as const
      ) {
        expect(yield* replaced(line), line).toBe(expected)
      }
      write("AGENTS.md", "mine")
      for (const line of ["git stash", "git checkout -- .", "git reset --hard", "git restore ."]) {
        expect(yield* replaced(line), line).toBe("AGENTS.md")
      }
      git(repo, "stash", "-q")
      expect(yield* replaced("git stash pop")).toBe("AGENTS.md")
    }).pipe(Effect.provide(Workspace.layer)))

  it.effect("is found without running what the repository names", () =>
    Effect.gen(function*() {
      const { asks, at, repo, write } = yield* Workspace
      prepare(repo, write)
      write("run.sh", "#!/bin/sh\ntouch RAN\ncat\n")
      fs.chmodSync(at("run.sh"), 0o755)
      git(repo, "config", "core.fsmonitor", "./run.sh")
      git(repo, "config", "filter.x.clean", "./run.sh")
      git(repo, "config", "diff.x.textconv", "./run.sh")
      write(".gitattributes", "* filter=x diff=x\n")
      write("a.txt", "three")
      yield* asks("bash", { command: "git checkout -f other && git stash" })
      expect(fs.existsSync(at("RAN"))).toBe(false)
    }).pipe(Effect.provide(Workspace.layer)))

  it.scopedLive.skipIf(!works)("is carried out whole in the sandbox once it was allowed", () =>
    Effect.gen(function*() {
      const { at, repo, top } = yield* world
      prepare(repo, (name, text) => {
        fs.mkdirSync(at(name).slice(0, at(name).lastIndexOf("/")), { recursive: true })
        fs.writeFileSync(at(name), text)
      })
      const line = "git checkout -q other"
      const approved = [at("AGENTS.md"), at(".husky/pre-commit")]
      expect(yield* Effect.provide(runIn({ directory: repo, approved }, line), layerIn(top))).toMatchObject({ code: 0 })
      expect(fs.readFileSync(at("AGENTS.md"), "utf8")).toBe("two")
      expect(fs.readFileSync(at(".husky/pre-commit"), "utf8")).toBe("two")
    }))
})
