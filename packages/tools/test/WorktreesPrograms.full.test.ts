import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as NodeFs from "node:fs"
import * as NodePaths from "node:path"
import { ground, task } from "./repository.ts"

const of = (directory: string) => ({ directory, taskID: task(1), description: "" })

/** A repository whose `*.txt` have the filter `name`, and a program that says that it ran. */
const filtered = (name = "evil") =>
  Effect.map(ground, (base) => {
    const { at, commit, repository, write } = base
    const repo = repository()
    write("repo/.gitattributes", `*.txt filter=${name}\n`)
    commit(repo, "attributes")
    const program = at("program")
    write("program", `#!/bin/sh\necho "$1" >> '${at("ran")}'\n[ "$1" = process ] && exit 1\ntr a-z A-Z\n`)
    NodeFs.chmodSync(program, 0o755)
    const section =
      `[filter "${name}"]\n  process = ${program} process\n  smudge = ${program} smudge\n  clean = ${program} clean\n  required = true\n`
    const append = (file: string, text: string) => NodeFs.appendFileSync(at(file), text)
    const ran = () => NodeFs.existsSync(at("ran")) ? NodeFs.readFileSync(at("ran"), "utf8").trim().split("\n") : []
    return { ...base, repo, program, section, append, ran }
  })

/** All that is done with a worktree: it is made, changed, looked at and removed. */
const wholeLife = Effect.fnUntraced(
  function*(
    { close, list, open, remove, write }: Effect.Effect.Success<ReturnType<typeof filtered>>,
    directory: string
  ) {
    // Git looks into a file only if it may have changed.
    write("repo/a.txt", "b\n")
    const { root } = yield* open(of(directory))
    const made = NodeFs.readFileSync(NodePaths.join(root, "a.txt"), "utf8")
    NodeFs.writeFileSync(NodePaths.join(root, "a.txt"), "c\n")
    expect(yield* close(task(1))).toMatchObject({ kept: true, uncommitted: 1 })
    expect(yield* list).toMatchObject([{ changes: { uncommitted: 1 } }])
    expect((yield* open(of(directory))).root).toBe(root)
    yield* remove(task(1), { force: true })
    return made
  }
)

describe("a filter of the repository does not run", () => {
  const places: ReadonlyArray<
    readonly [where: string, place: (the: Effect.Effect.Success<ReturnType<typeof filtered>>) => void]
  > = [
    [".git/config", ({ append, section }) => append("repo/.git/config", section)],
    ["an included file", ({ append, section, write }) => {
      write("repo/.git/more", section)
      append("repo/.git/config", "[include]\n  path = more\n")
    }],
    ["a file that is included for this directory", ({ append, at, section, write }) => {
      write("outside", section)
      append("repo/.git/config", `[includeIf "gitdir:**"]\n  path = ${at("outside")}\n`)
    }],
    ["config.worktree", ({ git, section, write }) => {
      git("repo", "config", "extensions.worktreeConfig", "true")
      write("repo/.git/config.worktree", section)
    }]
  ]
  for (const [where, place] of places) {
    it.scoped(`from ${where}`, () =>
      Effect.gen(function*() {
        const the = yield* filtered()
        place(the)
        expect(yield* wholeLife(the, the.repo)).toBe("a\n")
        expect(the.ran()).toEqual([])
      }))
  }

  it.scoped("from config.worktree of the new worktree", () =>
    Effect.gen(function*() {
      const { close, git, open, ran, repo, section, write } = yield* filtered()
      git(repo, "config", "extensions.worktreeConfig", "true")
      const { root } = yield* open(of(repo))
      write("repo/.git/worktrees/ses_1/config.worktree", section)
      NodeFs.writeFileSync(NodePaths.join(root, "a.txt"), "c\n")
      expect(yield* close(task(1))).toMatchObject({ kept: true, uncommitted: 1 })
      expect(ran()).toEqual([])
    }))

  for (const part of ["process", "smudge", "clean"]) {
    it.scoped(`if it has only \`${part}\``, () =>
      Effect.gen(function*() {
        const the = yield* filtered()
        the.append("repo/.git/config", `[filter "evil"]\n  ${part} = ${the.program} ${part}\n`)
        expect(yield* wholeLife(the, the.repo)).toBe("a\n")
        expect(the.ran()).toEqual([])
      }))
  }

  for (const name of ["a.b=c", "Upper", "it's", "ключ", "-c", "x.clean", "$(echo)"]) {
    it.scoped(`with the name ${name}`, () =>
      Effect.gen(function*() {
        const the = yield* filtered(name)
        the.append("repo/.git/config", the.section)
        expect(yield* wholeLife(the, the.repo)).toBe("a\n")
        expect(the.ran()).toEqual([])
      }))
  }

  it.scoped("with a name that is not valid text: the worktree is refused", () =>
    Effect.gen(function*() {
      const the = yield* filtered()
      const bytes = (text: string) => Buffer.from(text.replaceAll("evil", "ev\xFFil"), "latin1")
      NodeFs.writeFileSync(the.at("repo", ".git", "info", "attributes"), bytes("*.txt filter=evil\n"))
      NodeFs.appendFileSync(the.at("repo", ".git", "config"), bytes(the.section))
      expect((yield* Effect.flip(the.open(of(the.repo)))).message).toContain("not valid UTF-8")
      expect(the.traces(the.repo)).toEqual([])
      expect(the.ran()).toEqual([])
    }))

  it.scoped("in place of the user's own, which runs", () =>
    Effect.gen(function*() {
      const the = yield* filtered()
      const { append, at, git, program, ran, repo } = the
      git(repo, "config", "--global", "filter.evil.smudge", `sed s/a/mine/`)
      append("repo/.git/config", `[filter "evil"]\n  smudge = ${program} smudge\n  clean = ${program} clean\n`)
      const { root } = yield* the.open(of(repo))
      expect(NodeFs.readFileSync(NodePaths.join(root, "a.txt"), "utf8")).toBe("mine\n")
      expect(ran()).toEqual([])
      expect(NodeFs.existsSync(at("ran"))).toBe(false)
    }))
})

it.scoped("a bare repository among tracked files is refused, and nothing that it names runs", () =>
  Effect.gen(function*() {
    const { append, at, git, open, ran, repo, section } = yield* filtered()
    git(at(), "clone", "-q", repo, "outer")
    NodeFs.cpSync(at("repo", ".git"), at("outer", "inner"), { recursive: true })
    NodeFs.cpSync(at("repo", "a.txt"), at("outer", "inner", "a.txt"))
    append("outer/inner/config", `[core]\n  bare = false\n  worktree = .\n${section}`)
    git("outer", "add", "-A")
    git("outer", "commit", "-qm", "a repository")
    git(at(), "clone", "-q", "outer", "clone")
    NodeFs.mkdirSync(at("clone", "inner", "refs", "heads"), { recursive: true })
    // Git would take it for the repository.
    expect(git("clone/inner", "rev-parse", "--git-dir")).toBe(".")
    const refused = yield* Effect.flip(open(of(at("clone", "inner"))))
    expect(refused).toMatchObject({ reason: "not_a_repository" })
    expect(refused.message).toContain("bare repository")
    expect(ran()).toEqual([])
  }))

it.scoped("what a repository names to fetch missing files does not run", () =>
  Effect.gen(function*() {
    const { append, at, git, open, program, ran, repo } = yield* filtered()
    append(
      "repo/.git/config",
      `[extensions]\n  partialClone = o\n[remote "o"]\n  url = ${repo}\n  promisor = true\n  uploadpack = ${program} fetch;\n`
    )
    git(repo, "config", "core.repositoryFormatVersion", "1")
    const blob = git(repo, "rev-parse", "HEAD:a.txt")
    NodeFs.rmSync(at("repo", ".git", "objects", blob.slice(0, 2), blob.slice(2)))
    expect(yield* Effect.flip(open(of(repo)))).toMatchObject({ reason: "failed" })
    expect(ran()).toEqual([])
  }))
