import { describe, expect, it, layer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as fs from "node:fs"
import { git } from "./support/sandbox.ts"
import { Workspace } from "./workspace.ts"

/** What a line asks for, without what is only shown. */
const asked = (command: string) =>
  Effect.gen(function*() {
    const { asks } = yield* Workspace
    const found = yield* asks("bash", { command })
    return found.map(({ always, exact, patterns, permission, protected: isProtected, unclear }) => ({
      permission,
      patterns,
      always,
      ...(exact === undefined ? {} : { exact }),
      ...(isProtected === undefined ? {} : { protected: isProtected }),
      ...(unclear === undefined ? {} : { unclear })
    }))
  })

/** What the answer `always` would store of the commands themselves. */
const offered = (command: string) =>
  Effect.map(asked(command), (asks) => asks.find(({ permission }) => permission === "bash")?.always)

layer(Workspace.layer)((it) => {
  it.effect("each simple command is a pattern of one question, as rules write it", () =>
    Effect.gen(function*() {
      expect(yield* asked("env LC_ALL=C /usr/bin/git 'log' --oneline|head -3 && \"npm\" test; npm test")).toEqual([
        {
          permission: "bash",
          patterns: ["git log --oneline", "head -3", "npm test"],
          exact: [],
          always: ["git log *", "head *", "npm test *"]
        }
      ])
      expect(yield* asked("bash -c 'git status; make'")).toMatchObject([
        { patterns: ["bash -c 'git status; make'"], exact: ["bash -c 'git status; make'"] }
      ])
    }))

  it.effect("shows the line as it is written, and why no wildcard allows it", () =>
    Effect.gen(function*() {
      const { asks } = yield* Workspace
      const command = "git\t-c a=b  log # \u202e"
      const [ask] = yield* asks("bash", { command })
      expect(ask?.metadata).toMatchObject({ command, reasons: [expect.stringContaining("git -c")] })
    }))

  it.effect("where it writes, it asks for edits, on real paths", () =>
    Effect.gen(function*() {
      const { at, repo, write } = yield* Workspace
      write("real/a", "")
      write("b", "")
      fs.symlinkSync("real", at("soft"))
      fs.linkSync(at("b"), at("hard"))
      expect(yield* asked("echo x > soft/a 2>> soft/../log 3>&1")).toEqual([
        expect.objectContaining({ permission: "bash" }),
        { permission: "edit", patterns: ["real/a", "log"], always: ["real/**", "log"] }
      ])
      expect(yield* asked("cd real && echo x > c")).toMatchObject([{}, { permission: "edit", patterns: ["real/c"] }])
      expect(yield* asked("echo x > hard")).toMatchObject([
        { permission: "external_directory", patterns: [`${repo}/hard`] },
        { permission: "bash" },
        { permission: "edit", patterns: ["hard"] }
      ])
      expect(yield* asked("echo x > .git/hooks/x")).toMatchObject([
        { permission: "edit", patterns: [".git/hooks/x"], protected: true, always: [] },
        {}
      ])
      expect(yield* asked("cp a skein.json")).toMatchObject([
        { permission: "read", patterns: ["a"] },
        { permission: "edit", patterns: ["skein.json"], protected: true },
        {}
      ])
      expect(yield* asked("git status >/dev/null 2>&1")).toHaveLength(1)
    }))

  it.effect("where it reads, rules of reading hold, and what is outside is asked for", () =>
    Effect.gen(function*() {
      const { at, top, write } = yield* Workspace
      expect(yield* asked("cat .env src/a < c")).toMatchObject([
        { permission: "read", patterns: ["c", ".env", "src/a"], always: ["c", ".env", "src/a"] },
        {}
      ])
      expect(yield* asked("grep -r KEY src")).toMatchObject([{
        permission: "read",
        patterns: ["src"]
      }, {}])
      write("node_modules/p/a", "")
      write("one", "")
      fs.linkSync(at("one"), at("two"))
      fs.linkSync(at("node_modules/p/a"), at("node_modules/p/b"))
      expect(yield* asked("cat one")).toMatchObject([
        { permission: "external_directory", patterns: [at("one")] },
        {},
        {}
      ])
      expect(yield* asked("cat node_modules/p/b")).toMatchObject([{ permission: "read" }, {}])
      expect(yield* asked("cat ../x")).toMatchObject([
        { permission: "external_directory", patterns: [`${top}/w/x`], always: [`${top}/w/x`] },
        {}
      ])
      // Of a directory, `always` allows what is in it, and nothing beside it.
      fs.mkdirSync(`${top}/w/other`)
      for (const command of ["ls ../other", "git -C ../other log"]) {
        expect((yield* asked(command)).filter(({ permission }) => permission === "external_directory"), command)
          .toMatchObject([{ patterns: [`${top}/w/other`], always: [`${top}/w/other`, `${top}/w/other/*`] }])
      }
    }))

  it.effect("`always` is a rule for each command, no wider than is useful (S06)", () =>
    Effect.gen(function*() {
      expect(yield* offered("git status && npm test")).toEqual(["git status *", "npm test *"])
      expect(yield* offered("npm run build -- --fast; ls -la")).toEqual(["npm run build *", "ls *"])
      expect(yield* offered("rm -r build")).toEqual(["rm -r build"])
      expect(yield* offered("git --no-pager log")).toEqual(["git --no-pager log"])
      expect(yield* offered("python3 -m pytest")).toEqual(["python3 -m pytest *"])
      for (
        const command of [
          "git log $(cat a)",
          "cat $x",
          "git status; PATH=.",
          "cat *",
          "find . -exec 'x*' +",
          "git status '",
          "cd $x; ls"
        ]
      ) expect(yield* offered(command), command).toEqual([])
    }))

  it.effect("`always` stores nothing for a program that may be told by its input what to do", () =>
    Effect.gen(function*() {
      const told = [
        "echo hi | sh",
        "python3 - <<'E'\nprint(1)\nE",
        "bash < a",
        "bash -o errexit < a",
        "bash -s x <<< 'echo 1'",
        "/bin/sh",
        "timeout 5 node",
        "cat a | xargs touch",
        "ed f",
        "ssh host",
        "sudo sh",
        "source /dev/stdin < a",
        "perl /dev/fd/0",
        "make -f -",
        "find . -exec sh \\;",
        "uv run python"
      ]
      for (const command of told) expect(yield* offered(command), command).toEqual([])
      for (
        const command of [
          "python3 a.py x",
          "node -e 1",
          "bash -ec 'ls | sh'",
          "sh ./a.sh",
          "tar xf a.tar",
          "rustup run x y"
        ]
      ) {
        expect(yield* offered(command), command).toEqual([command])
      }
    }))

  it.effect("`always` stores nothing of what is asked beside a substitution", () =>
    Effect.map(
      asked("x=$(echo a); git log < ../x > y"),
      (asks) => expect(asks.flatMap(({ always }) => always)).toEqual([])
    ))

  it.effect("what cannot be read is asked for as a whole, with what was found in it", () =>
    Effect.gen(function*() {
      const { asks } = yield* Workspace
      expect(yield* asks("bash", { command: "git status; echo 'open" })).toMatchObject([{ unclear: true, always: [] }])
      const many = Array.from({ length: 5_000 }, (_, at) => `l${at.toString(36)}`).join(";")
      const [bash] = yield* asks("bash", { command: `${many}; touch x` })
      expect(bash?.patterns).toHaveLength(5_001)
      expect(bash?.patterns).toContain("touch x")
    }))
})

describe("what git writes outside", () => {
  /** The paths outside that a line is to change. */
  const changed = Effect.fnUntraced(function*(command: string) {
    const { asks, top } = yield* Workspace
    const found = yield* asks("bash", { command })
    const external = found.filter(({ permission }) => permission === "external_directory").flatMap(({ patterns }) =>
      patterns
    )
    const edits = found.filter(({ permission }) => permission === "edit").flatMap(({ patterns }) => patterns)
    expect(external, command).toEqual(expect.arrayContaining(edits))
    return edits.map((path) => path.replace(`${top}/w/`, ""))
  })

  layer(Workspace.layer)((it) => {
    it.effect("is a change there", () =>
      Effect.gen(function*() {
        const { repo, top } = yield* Workspace
        for (const name of ["remote", "repo"]) git(`${top}/w`, "init", "-q", "-b", "main", name)
        git(repo, "remote", "add", "origin", "../remote")
        const lines = [
          "git -C ../remote fetch ../repo main:x",
          "git -C .. -C remote fetch ../repo main:x",
          `git --git-dir=${top}/w/remote/.git fetch . main:x`,
          "git --git-dir ../remote/.git --work-tree ../remote checkout x",
          "GIT_DIR=../remote git fetch . main:x",
          "export GIT_DIR=../remote; git branch x",
          "env GIT_WORK_TREE='../remote' git checkout .",
          "cd ../remote && git fetch ../repo main:x",
          "git -C ../remote commit --allow-empty -m x",
          "git -C ../remote branch x",
          "git -C ../remote update-ref refs/heads/x abc123",
          "git push ../remote main:x",
          "git push origin main:x",
          "git push",
          "git clone . ../remote/copy",
          "git init ../remote/new",
          "git worktree add ../remote/tree",
          "git bundle create ../remote/all.bundle --all",
          "git archive -o ../remote/a.tar HEAD",
          "git format-patch --output-directory=../remote -1"
        ]
        for (const line of lines) expect((yield* changed(line)).join(), line).toMatch(/^remote|,remote/)
      }))

    it.effect("is none where git only reads there", () =>
      Effect.gen(function*() {
        const lines = [
          ...["git -C ../remote log", "git -C ../remote status", "git fetch ../remote", "git pull ../remote main"],
          ...["git clone ../remote here", "git diff", "cd ../remote && git log", "git commit -F ../remote/message"]
        ]
        for (const line of lines) expect(yield* changed(line), line).toEqual([])
      }))
  })
})

describe("other ways to write a command", () => {
  const ways: ReadonlyArray<readonly [line: string, others: ReadonlyArray<string>]> = [
    ["/opt/x/git status", ["git status"]],
    ["echo; /usr/bin/git status", ["/usr/bin/git status"]],
    ["nice env A=1 git status", ["nice env A=1 git status", "env A=1 git status"]],
    ["sudo -u a git status", ["a git status", "git status"]],
    ["bash -c 'nice git status'", ["nice git status", "git status"]],
    ["eval \"sh -c 'git status'\"", ["sh -c git status", "git status"]],
    ["find . -exec git status \\;", ["git status ;"]],
    ["git  log > a", ["git  log > a"]]
  ]
  it.effect.each(ways)("%s", ([command, others]) =>
    Effect.gen(function*() {
      const { asks } = yield* Workspace
      const also = (yield* asks("bash", { command })).flatMap((ask) => ask.also ?? [])
      expect(also).toEqual(expect.arrayContaining([...others]))
    }).pipe(Effect.provide(Workspace.layer)))
})
