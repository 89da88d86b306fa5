import { describe, expect, layer } from "@effect/vitest"
import type { Action, PermissionConfig } from "@skein/domain/Rule"
import * as Effect from "effect/Effect"
import { execFileSync } from "node:child_process"
import * as fs from "node:fs"
import { decided, layerDecisions } from "./support/decisions.ts"
import { Workspace } from "./workspace.ts"

const rules = {
  read: "allow",
  bash: { "*": "ask", "git *": "allow", "cd *": "allow" },
  external_directory: "deny"
} satisfies PermissionConfig

/** What is set in a repository before these lines are decided, and what is said of them. */
const cases: ReadonlyArray<
  readonly [what: string, settings: Readonly<Record<string, string>>, Action, ReadonlyArray<string>]
> = [
  ["core.fsmonitor", { "core.fsmonitor": "./x" }, "ask", [
    "git status",
    "git diff",
    "git -C . log",
    "cd src && git status"
  ]],
  ["diff.external", { "diff.external": "./x" }, "ask", ["git diff", "git log -p"]],
  ["a text converter", { "diff.pdf.textconv": "./x" }, "ask", [
    "git blame a",
    "git log -p",
    "git log -S x",
    "git log -G x --oneline",
    "git log -L 1,2:a",
    "git show",
    "git diff --stat",
    "git grep x",
    "git commit -v -m x",
    "git stash show"
  ]],
  ["a text converter that nothing needs", { "diff.pdf.textconv": "./x", "diff.external": "./y" }, "allow", [
    "git status",
    "git log --grep='a && b'",
    "git log --oneline --stat",
    "git commit -m 'fix; rm -rf x'",
    "git commit --allow-empty -m 'fix; rm -rf $(touch x)'",
    "git branch",
    "git add src"
  ]],
  ["a filter", { "filter.x.clean": "./x" }, "ask", ["git add a", "git status"]],
  ["a merge driver", { "merge.x.driver": "./x" }, "ask", ["git merge main"]],
  ["an ssh command", { "core.sshCommand": "./x" }, "ask", ["git fetch"]],
  ["a pager", { "core.pager": "./x", "pager.log": "./x" }, "ask", ["git log"]],
  ["an editor", { "core.editor": "./x" }, "ask", ["git commit"]],
  ["signing", { "gpg.program": "./x", "commit.gpgSign": "true" }, "ask", ["git commit -m x"]],
  ["a helper of credentials", { "credential.helper": "!./x" }, "ask", ["git fetch origin"]],
  ["an upload pack", { "remote.origin.uploadpack": "./x" }, "ask", ["git fetch origin"]],
  ["a rewritten address", { "url.ext::x .insteadOf": "https://" }, "ask", ["git fetch"]],
  ["an included file", { "include.path": "../more" }, "ask", ["git status"]],
  ["a setting that nobody knows", { "core.brandNew": "x" }, "ask", ["git status"]],
  ["a local remote", { "remote.origin.url": "../bare.git" }, "ask", ["git fetch origin", "git pull"]],
  ["a local remote to write to", { "remote.origin.url": "../bare.git" }, "deny", ["git push", "git push origin main"]],
  ["a file: remote to write to", { "remote.origin.url": "file:///bare.git" }, "deny", ["git push"]],
  ["a helper as remote", { "remote.origin.url": "ext::x" }, "ask", ["git log", "git push"]],
  [
    "what people set",
    {
      "remote.origin.url": "git@example.com:a/b.git",
      "branch.main.remote": "origin",
      "branch.main.merge": "refs/heads/main",
      "user.name": "a",
      "pull.rebase": "true",
      "alias.st": "status",
      "filter.lfs.clean": "git-lfs clean -- %f"
    },
    "allow",
    [
      "git status",
      "git log -p",
      "git push origin main",
      "git push",
      "git fetch",
      "cd src && git status",
      "git -C src diff"
    ]
  ]
]

/** A new repository, with what is not changed by the settings of these tests. */
const repository = (settings: Readonly<Record<string, string>>) =>
  Effect.map(Workspace, ({ at, repo, write }) => {
    fs.rmSync(repo, { recursive: true, force: true })
    write("src/a", "")
    write("bare/HEAD", "")
    execFileSync("git", ["init", "-q", "--template=", repo])
    for (const [key, value] of Object.entries(settings)) execFileSync("git", ["config", key, value], { cwd: repo })
    return at
  })

describe("a repository with", () => {
  layer(layerDecisions)((it) => {
    it.effect.each(cases)("%s", ([, settings, expected, lines]) =>
      Effect.gen(function*() {
        yield* repository(settings)
        for (const line of lines) expect(yield* decided(line, rules), line).toBe(expected)
      }))

    it.effect("hooks runs them only for a rule that names the command of git", () =>
      Effect.gen(function*() {
        const at = yield* repository({ "core.hooksPath": ".husky" })
        expect(yield* decided("git commit -m x", rules)).toBe("allow")
        fs.mkdirSync(at(".husky"))
        fs.writeFileSync(at(".husky/pre-commit"), "")
        expect(yield* decided("git commit -m x", rules)).toBe("ask")
        expect(yield* decided("git status", rules)).toBe("allow")
        const named = { ...rules, bash: { ...rules.bash, "git commit *": "allow" } } as const
        expect(yield* decided("git commit -m x", named)).toBe("allow")
        fs.writeFileSync(at(".husky/post-index-change"), "")
        expect(yield* decided("git status", rules)).toBe("ask")
      }))

    it.effect("a submodule goes by the settings of that as well", () =>
      Effect.gen(function*() {
        const at = yield* repository({ "user.name": "a" })
        execFileSync("git", ["init", "-q", "--template=", at("sub")])
        const link = "160000,4b825dc642cb6eb9a060e54bf8d69288fbee4904,sub"
        execFileSync("git", ["update-index", "--add", "--cacheinfo", link], { cwd: at(".") })
        expect(yield* decided("git status", rules)).toBe("allow")
        execFileSync("git", ["config", "core.fsmonitor", "./x"], { cwd: at("sub") })
        expect(yield* decided("git status", rules)).toBe("ask")
      }))

    it.effect.each(
      ["git push ./bare main", "git push bare main", "git fetch /srv/x.git", "git pull ../x", "git fetch file:///x"]
        .map((
          line
        ) => [line] as const)
    )("a directory as destination is asked for: %s", ([line]) =>
      Effect.gen(function*() {
        yield* repository({ "remote.origin.url": "https://example.com/a" })
        expect(yield* decided(line, rules)).not.toBe("allow")
      }))
  })
})
