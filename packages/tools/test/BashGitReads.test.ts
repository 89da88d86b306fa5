/** git shows what is in tracked files, also those of other commits: rules of reading hold for them. */
import { describe, expect, layer } from "@effect/vitest"
import { defaultRules } from "@skein/core/Agent"
import { fromConfig } from "@skein/domain/Rule"
import * as Effect from "effect/Effect"
import * as fs from "node:fs"
import { decided, layerDecisions } from "./support/decisions.ts"
import { git } from "./support/sandbox.ts"
import { Workspace } from "./workspace.ts"

const rules = [...defaultRules, ...fromConfig({ read: { "conf/*": "deny" }, bash: { "git *": "allow" } })]

/** A repository that tracks a file that must not be read, and once has tracked one that is asked for. */
const prepare = Effect.map(Workspace, ({ at, repo, write }) => {
  if (fs.existsSync(at(".git"))) return
  git(repo, "init", "-q", "-b", "main")
  for (const file of ["conf/secret.txt", "src/a.ts", "lib/b.ts", "old/.env"]) write(file, "a\n")
  git(repo, "add", ".")
  git(repo, "commit", "-qm", "first")
  git(repo, "rm", "-q", "old/.env")
  git(repo, "commit", "-qm", "second")
})

const cases = [
  ["of a file that must not be read", "deny", [
    "git diff",
    "git diff HEAD~1",
    "git diff -- conf",
    "git diff -- 'c*'",
    "git diff -- ':(top)src'",
    "git diff --stat -p",
    "git show",
    "git show HEAD",
    "git show abc123",
    "git log -p",
    "git log -3 --patch",
    "git log -U1",
    "git stash show -p",
    "git grep a",
    "git grep a HEAD~1",
    "git grep -e a",
    "git cat-file -p HEAD",
    "git diff-tree -p HEAD",
    "git diff-index -p HEAD",
    "git reflog -p",
    "git status -v",
    "git commit -v --dry-run",
    "git whatchanged -p",
    "git range-diff a...b",
    "cd src && git show",
    "cd src && git show HEAD:conf/secret.txt",
    "cd src && git show @:conf/secret.txt",
    "cd src && git cat-file -p 'HEAD^{tree}:conf/secret.txt'",
    "cd src && git cat-file blob main:conf/secret.txt",
    "cd src && git show HEAD:./../conf/secret.txt",
    "cd conf && git show HEAD:./secret.txt",
    "git -C src show HEAD:conf/secret.txt",
    "git show HEAD:{conf/secret.txt,src/a.ts}",
    "git -C src log -p",
    "git log --oneline | head && git diff",
    "git archive HEAD",
    "git archive --format=tar HEAD conf | tar xO",
    "git format-patch --root --stdout",
    "git format-patch -1",
    "git fast-export --all",
    "git bundle create - --all",
    "git pack-objects --stdout --all",
    "git unpack-file abc123",
    "git checkout-index --prefix=out/ -a",
    "git checkout -p",
    "git --work-tree=out checkout HEAD -- .",
    "git --git-dir=.git --work-tree=. diff",
    "git worktree add ../other",
    "git clone . out",
    "git difftool -y -x cat",
    "git annotate conf/secret.txt",
    "git merge-file -p conf/secret.txt src/a.ts lib/b.ts",
    "git request-pull -p HEAD~1 .",
    "git -c alias.x='show HEAD:conf/secret.txt' x",
    "git lol -p",
    "git am --show-current-patch",
    "git stash -p"
  ]],
  ["of one that is asked for and only an old commit has", "ask", [
    "git show HEAD~1 -- old",
    "cd src && git show HEAD~1:old/.env",
    "git log -p -- old",
    "git log -p -- . ':!conf'",
    "git show HEAD -- ':(exclude)conf/*'"
  ]],
  ["of others", "allow", [
    "git diff -- src",
    "git diff src/a.ts",
    "git diff HEAD~1 -- src lib",
    "git diff -- . ':!conf'",
    "git diff -- ':!conf'",
    "git diff -- . ':(exclude)conf/*'",
    "git log -p -- . ':!conf' ':^old'",
    "git log -p src",
    "git blame src/a.ts",
    "git grep a -- src",
    "git grep -l a",
    "git show HEAD:src/a.ts",
    "cd src && git show HEAD:src/a.ts HEAD:lib/b.ts",
    "cd src && git diff -- a.ts",
    "git -C src diff -- a.ts",
    "git diff --stat",
    "git diff --name-only HEAD~1",
    "git show --stat",
    "git log --oneline -5",
    "git log --stat",
    "git status",
    "git add -A",
    "git checkout main",
    "git worktree list",
    "git stash list",
    "git branch -a"
  ]]
] as const

describe("what git shows", () => {
  layer(layerDecisions)((it) => {
    it.effect.each(cases.map((each) => [...each] as const))("%s: %s", ([, expected, lines]) =>
      Effect.gen(function*() {
        yield* prepare
        const strange: Array<string> = []
        for (const line of lines) {
          const found = yield* decided(line, rules)
          if (found !== expected) strange.push(`${found}: ${line}`)
        }
        expect(strange).toEqual([])
      }))

    it.effect("counts as soon as it is committed", () =>
      Effect.gen(function*() {
        yield* prepare
        const { repo, write } = yield* Workspace
        expect(yield* decided("git log -p -- new", rules)).toBe("allow")
        write("new/.env", "a\n")
        git(repo, "add", ".")
        git(repo, "commit", "-qm", "third")
        expect(yield* decided("git log -p -- new", rules)).toBe("ask")
      }))
  })
})
