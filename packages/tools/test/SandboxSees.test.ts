/** What a sandboxed command sees: the system, toolchains and its tree, and none of the secrets in them. */
import { describe, expect, it } from "@effect/vitest"
import type { Action } from "@skein/domain/Rule"
import type { SandboxPlace } from "@skein/tools/SandboxPlace"
import * as Effect from "effect/Effect"
import * as fs from "node:fs"
import * as path from "node:path"
import { git, layerIn, runIn, works, world } from "./support/sandbox.ts"

/** A world with a home that has secrets, toolchains and a config of git. */
const homely = Effect.map(world, ({ at, repo, top }) => {
  const home = path.join(top, "home")
  const file = (name: string, text: string, mode = 0o644) => {
    fs.mkdirSync(path.dirname(path.join(home, name)), { recursive: true })
    fs.writeFileSync(path.join(home, name), text, { mode })
  }
  file(".ssh/id_ed25519", "the key")
  file(".npmrc", "//registry.example.com/:_authToken=abc")
  file("notes.txt", "private")
  file(".gitconfig", "[user]\n\tname = Ada\n\temail = ada@example.com\n[credential]\n\thelper = store\n")
  file(".cargo/bin/tool", "#!/bin/sh\necho a toolchain\n", 0o755)
  file(".cargo/credentials.toml", "token = abc")
  const run = (line: string, more: Partial<SandboxPlace> = {}) =>
    runIn({ directory: repo, approved: [], ...more }, line)
  return { at, home, repo, run, top }
})

const reads = (hidden: Readonly<Record<string, Action>>) => (file: string): Action =>
  Object.entries(hidden).find(([name]) => file === name || file.startsWith(`${name}/`))?.[1] ?? "allow"

describe.skipIf(!works)("a sandboxed command (needs bubblewrap)", () => {
  it.live("sees nothing of the home but toolchains, and has one of its own", () =>
    Effect.scoped(Effect.gen(function*() {
      const { home, run, top } = yield* homely
      yield* Effect.gen(function*() {
        expect((yield* run(`ls -A ${home}`)).output.split("\n")).toEqual([".cargo", ".gitconfig", ""])
        expect(yield* run(`cat ${home}/notes.txt ${home}/.ssh/id_ed25519`)).not.toMatchObject({ code: 0 })
        expect(yield* run(`ls -A ${home}/.cargo; ${home}/.cargo/bin/tool`)).toEqual({
          code: 0,
          output: "bin\na toolchain\n"
        })
        expect(yield* run(`HOME=${home} git config --global --list`)).toEqual({
          code: 0,
          output: "user.name=Ada\nuser.email=ada@example.com\n"
        })
        expect(yield* run(`echo mine > ${home}/kept`)).toMatchObject({ code: 0 })
        expect(yield* run(`cat ${home}/kept; touch ${home}/.cargo/bin/x`)).toMatchObject({
          code: 1,
          output: expect.stringMatching(/^mine\n/)
        })
      }).pipe(Effect.provide(layerIn(top)))
      expect(fs.existsSync(path.join(home, "kept"))).toBe(false)
    })))

  it.live("sees nothing that a rule denies, also of packages and of what is built", () =>
    Effect.scoped(Effect.gen(function*() {
      const { at, run, top } = yield* homely
      const reads = (file: string): Action => file.endsWith(".pem") ? "deny" : file.endsWith(".env") ? "ask" : "allow"
      for (const file of ["target/a.pem", "src/target/b.pem", "node_modules/x/.venv/c.pem", "node_modules/x/d.js"]) {
        fs.mkdirSync(path.dirname(at(file)), { recursive: true })
        fs.writeFileSync(at(file), `of ${path.basename(file)}\n`)
      }
      yield* Effect.gen(function*() {
        const { output } = yield* run("grep -rh --include=*.pem --include=d.js of . 2> /dev/null; true", {
          reads,
          deniesReads: true
        })
        expect(output).toBe("of d.js\n")
      }).pipe(Effect.provide(layerIn(top)))
    })))

  it.live("changes nothing that a rule does not let be changed, whatever program it runs", () =>
    Effect.scoped(Effect.gen(function*() {
      const { at, run, top } = yield* homely
      const edits = (file: string): Action =>
        /^(?:gen|node_modules|deep\/er)\/|(?:^|\/)[^/]*\.lock$|^link$/.test(file) ? "deny" : "allow"
      const files = [
        "gen/a.ts",
        "node_modules/x/a.js",
        "deep/er/a",
        "deep/b.lock",
        "c.lock",
        "target/d/e.lock",
        "src/target.txt"
      ]
      for (const file of files) {
        fs.mkdirSync(path.dirname(at(file)), { recursive: true })
        fs.writeFileSync(at(file), "mine")
      }
      fs.symlinkSync("src/target.txt", at("link"))
      yield* Effect.gen(function*() {
        for (const file of [...files.slice(0, -1), "link"]) {
          for (
            const line of [
              `echo x > ${file}`,
              `rm -rf ${file}`,
              `mv ${file} moved`,
              `mv ${file.split("/")[0]} moved`,
              `sed -i s/m/x/ ${file}`,
              `echo x > new && mv -f new ${file}`,
              `ln ${file} hard && echo x > hard`,
              `python3 -c "open('${file}', 'w')"`
            ]
          ) yield* run(line, { edits })
          fs.rmSync(at("hard"), { force: true })
          expect(fs.readFileSync(at(file), "utf8"), file).toBe("mine")
        }
        expect(fs.readlinkSync(at("link"))).toBe("src/target.txt")
        expect(yield* run("echo x > deep/free && echo x > src/free && cat gen/a.ts", { edits })).toEqual({
          code: 0,
          output: "mine"
        })
        const notes: Array<string> = []
        const tell = (note: string) => Effect.sync(() => void notes.push(note))
        yield* run("echo x > src/new.lock; mkdir deep/q && echo x > deep/q/y.lock; echo x > fine", { edits, tell })
        expect(["src/new.lock", "deep/q/y.lock", "fine"].map((name) => fs.existsSync(at(name)))).toEqual([
          false,
          false,
          true
        ])
        // The time of the directory does not hide what is new in it.
        yield* run("touch -r src /tmp/before; echo x > src/late.lock; touch -r /tmp/before src", { edits })
        expect(fs.existsSync(at("src/late.lock"))).toBe(false)
        expect(notes).toEqual([
          expect.stringContaining("A rule denies changing src/new.lock."),
          expect.stringContaining("A rule denies changing deep/q/y.lock.")
        ])
      }).pipe(Effect.provide(layerIn(top)))
    })))

  it.live("sees only the places that are listed, and what the user adds", () =>
    Effect.scoped(Effect.gen(function*() {
      const { home, run, top } = yield* homely
      fs.writeFileSync(path.join(top, "other", "data"), "data")
      const line = `cat ${top}/other/data`
      yield* Effect.gen(function*() {
        expect(yield* run(line)).not.toMatchObject({ code: 0 })
        expect(yield* run(line, { visible: [path.join(top, "other", "data")] })).toEqual({ code: 0, output: "data" })
        const seen = (yield* run("ls /")).output.trim().split("\n")
        const listed = "bin dev etc lib lib32 lib64 libx32 nix opt proc run sbin snap sys tmp usr".split(" ")
        // The tree lies in /var, and toolchains may lie anywhere.
        const toolchains = [process.execPath, ...process.env["PATH"]?.split(":") ?? []].map((each) =>
          each.split("/")[1]
        )
        expect(seen.filter((name) => ![...listed, "var", ...toolchains].includes(name))).toEqual([])
        expect((yield* run("ls /var /var/tmp")).output.match(/\w+/g)).toEqual([
          "var",
          "tmp",
          "var",
          "tmp",
          ...path.basename(top).match(/\w+/g) ?? []
        ])
        expect(yield* run("ls /var/run/secrets /run/secrets /etc/shadow && cat /etc/shadow")).not.toMatchObject({
          code: 0
        })
        expect(yield* run("cat /etc/shadow || cat /etc/gshadow")).not.toMatchObject({ code: 0 })
        expect(yield* run("git --version && sh -c 'cat /etc/passwd' | grep -c root")).toMatchObject({ code: 0 })
      }).pipe(Effect.provide(layerIn(top)))
      yield* Effect.gen(function*() {
        expect(yield* run(line)).toEqual({ code: 0, output: "data" })
        expect(yield* run(`cat ${home}/notes.txt`)).toEqual({ code: 0, output: "private" })
      }).pipe(Effect.provide(layerIn(top, { read: [path.join(top, "other"), "~/notes.txt"] })))
    })))

  it.live("reads no file of the tree that rules deny or ask for", () =>
    Effect.scoped(Effect.gen(function*() {
      const { at, run, top } = yield* homely
      for (const name of [".env", "packages/a/.env", "secrets/deep/key", "open.txt"]) {
        fs.mkdirSync(path.dirname(at(name)), { recursive: true })
        fs.writeFileSync(at(name), `text of ${name}`)
      }
      const rules = reads({ ".env": "ask", "packages/a/.env": "ask", secrets: "deny" })
      yield* Effect.gen(function*() {
        for (const readOnly of [true, false]) {
          const found = yield* run("grep -rh text . ; cat packages/a/.env; ls secrets", { reads: rules, readOnly })
          expect(found.output).toContain("text of open.txt")
          expect(found.output).not.toMatch(/text of (?!open)/)
          expect(found.output).not.toContain("deep")
        }
        expect(yield* run("mv packages p; cat p/a/.env", { reads: rules })).not.toMatchObject({ code: 0 })
        expect(yield* run("ln .env e || cp .env e", { reads: rules })).not.toMatchObject({ code: 0 })
        expect(yield* run("cat .env", { reads: rules, credentials: true })).toEqual({ code: 0, output: "text of .env" })
        expect(yield* run("cat secrets/deep/key", { reads: rules, credentials: true })).not.toMatchObject({ code: 0 })
      }).pipe(Effect.provide(layerIn(top)))
      expect(fs.readFileSync(at("packages/a/.env"), "utf8")).toBe("text of packages/a/.env")
    })))

  it.live("holds to the rules in approved places outside", () =>
    Effect.scoped(Effect.gen(function*() {
      const { run, top } = yield* homely
      const out = path.join(top, "approved")
      const file = (name: string) => path.join(out, name)
      for (const name of ["shut/s.txt", "open/.env", "open/x.lock", "open/a.txt"]) {
        fs.mkdirSync(path.dirname(file(name)), { recursive: true })
        fs.writeFileSync(file(name), `text of ${name}`)
      }
      const denies = (...forms: ReadonlyArray<RegExp>) => (at: string): Action =>
        forms.some((form) => form.test(at)) ? "deny" : "allow"
      const reads = denies(/approved\/shut\//, /\.env$/)
      const edits = denies(/approved\/shut\//, /\.lock$/)
      yield* Effect.gen(function*() {
        const shown = yield* run(`grep -rh text ${out}`, { reads, visible: [out], readOnly: true })
        expect(shown.output.match(/text of \S+/g)?.toSorted()).toEqual(["text of open/a.txt", "text of open/x.lock"])
        const reached = [file("shut/new"), file("open/new")]
        yield* run(`cd ${out}; echo x > shut/new; echo x > open/new; rm open/x.lock; echo x > open/y.lock`, {
          reads,
          edits,
          reached
        })
        expect(fs.readdirSync(file("shut"))).toEqual(["s.txt"])
        const left = fs.readdirSync(file("open")).filter((name) => !name.includes("set-aside"))
        expect(left.toSorted()).toEqual([".env", "a.txt", "new", "x.lock"])
        expect((yield* run(`cat ${file("open/.env")}`, { reads, reached })).output).not.toContain("text")
      }).pipe(Effect.provide(layerIn(top)))
    })))

  it.live("finds config without the credentials in it", () =>
    Effect.scoped(Effect.gen(function*() {
      const { at, run, top } = yield* homely
      const config = `${fs.readFileSync(at(".git/config"), "utf8")}[remote "origin"]
\turl = https://ada:s3cret@example.com/x.git
[http "https://example.com"]
\textraheader = AUTHORIZATION: basic s3cret
`
      fs.writeFileSync(at(".git/config"), config)
      fs.writeFileSync(at(".npmrc"), "save-exact=true\n//registry.example.com/:_authToken=s3cret\n")
      yield* Effect.gen(function*() {
        for (const readOnly of [true, false]) {
          const { output } = yield* run("git remote get-url origin; cat .git/config .npmrc", { readOnly })
          expect(output).toContain("https://example.com/x.git\n")
          expect(output).toContain("save-exact=true")
          expect(output).not.toContain("s3cret")
        }
        expect((yield* run("cat .git/config", { credentials: true })).output).toBe(config)
      }).pipe(Effect.provide(layerIn(top)))
      expect(fs.readFileSync(at(".git/config"), "utf8")).toBe(config)
    })))

  it.live("sees the home and its keys only where credentials were granted, and can change nothing there", () =>
    Effect.scoped(Effect.gen(function*() {
      const { home, run, top } = yield* homely
      yield* Effect.gen(function*() {
        expect((yield* run(`cat ${home}/.ssh/id_ed25519`, { credentials: true })).output).toBe("the key")
        expect(yield* run(`echo x >> ${home}/.ssh/id_ed25519`, { credentials: true })).not.toMatchObject({ code: 0 })
        expect(yield* run(`echo x > ${home}/new`, { credentials: true })).not.toMatchObject({ code: 0 })
      }).pipe(Effect.provide(layerIn(top)))
    })))

  it.live("neither sees nor changes the database and other files of Skein, wherever they lie", () =>
    Effect.scoped(Effect.gen(function*() {
      const { at, repo, run, top } = yield* homely
      fs.mkdirSync(at("state"))
      for (const name of ["skein.db", "skein.db-wal", "state/log"]) fs.writeFileSync(at(name), "ours")
      const own = ["skein.db", "skein.db-wal", "skein.db-shm", "skein.db-journal", "state"].map(at)
      const notes: Array<string> = []
      const tell = (note: string) => Effect.sync(() => void notes.push(note))
      yield* Effect.gen(function*() {
        for (
          const line of [
            "cat skein.db",
            "echo x >> skein.db",
            "rm skein.db",
            "mv skein.db-wal w",
            "cat state/log",
            "echo x > state/log",
            "mv state s"
          ]
        ) {
          for (const readOnly of [true, false]) {
            expect(yield* run(line, { readOnly }), line).not.toMatchObject({ code: 0 })
          }
        }
        yield* run("echo forged > skein.db-journal", { tell })
        expect(notes).toEqual([expect.stringContaining("skein.db-journal is protected")])
        expect(fs.existsSync(at("skein.db-journal"))).toBe(false)
      }).pipe(Effect.provide(layerIn(top, { own })))
      for (const name of ["skein.db", "skein.db-wal", "state/log"]) {
        expect(fs.readFileSync(path.join(repo, name), "utf8")).toBe("ours")
      }
    })))

  it.live("sees no proof that this host has the directory, in whichever repository it lies", () =>
    Effect.scoped(Effect.gen(function*() {
      const { at, repo, top } = yield* world
      const tree = path.join(top, "tree")
      git(repo, "worktree", "add", "-q", tree)
      git(repo, "init", "-q", "nested")
      fs.mkdirSync(at(".skein-host"))
      const proofs = [".git/skein-host", "nested/.git/skein-host", ".skein-host/nonce"]
      for (const name of proofs) fs.writeFileSync(at(name), "proof\n")
      for (const readOnly of [true, false]) {
        for (const directory of [repo, tree]) {
          const place = { directory, approved: [], readOnly, visible: directory === tree ? [repo] : [] }
          const line = `cat ${proofs.map(at).join(" ")}; echo x > ${at(proofs[0]!)}; grep -rs proof ${repo} ${tree}`
          const { output } = yield* Effect.provide(runIn(place, line), layerIn(top))
          expect(output.replaceAll(/^.*(?:denied|Read-only|No such).*$/gm, "").trim(), directory).toBe("")
        }
        expect(
          yield* Effect.provide(
            runIn({ directory: repo, approved: [], readOnly }, "git status --porcelain"),
            layerIn(top)
          )
        )
          .toMatchObject({ code: 0 })
      }
      for (const name of proofs) expect(fs.readFileSync(at(name), "utf8"), name).toBe("proof\n")
    })))

  it.live("has the network only where that was granted", () =>
    Effect.scoped(Effect.gen(function*() {
      const { run, top } = yield* homely
      yield* Effect.gen(function*() {
        const line = "grep -c : /proc/net/dev"
        const count = (output: string) => Number(output.trim())
        expect(count((yield* run(line)).output)).toBe(1)
        expect(count((yield* run(line, { network: true })).output)).toBe(
          fs.readFileSync("/proc/net/dev", "utf8").split("\n").filter((each) => each.includes(":")).length
        )
      }).pipe(Effect.provide(layerIn(top)))
    })))

  it.live("cannot give a hidden file another name by moving a directory above it", () =>
    Effect.scoped(Effect.gen(function*() {
      const { at, run, top } = yield* homely
      for (const name of ["conf/deep/secret", "conf/other", "keys/a/b"]) {
        fs.mkdirSync(path.dirname(at(name)), { recursive: true })
        fs.writeFileSync(at(name), "SECRET")
      }
      const hidden = { reads: reads({ "conf/deep/secret": "deny", "keys/a": "ask" }) }
      yield* Effect.gen(function*() {
        for (const line of ["mv conf x", "mv conf/deep x", "mv conf/deep/secret x", "mv keys x", "mv keys/a x"]) {
          expect(yield* run(line, hidden), line).not.toMatchObject({ code: 0 })
        }
        expect(yield* run("mv conf/other conf/more && ls conf", hidden)).toEqual({ code: 0, output: "deep\nmore\n" })
      }).pipe(Effect.provide(layerIn(top)))
    })))

  it.live("does not see directories that were too many to be checked, and is told so", () =>
    Effect.scoped(Effect.gen(function*() {
      const { at, run, top } = yield* homely
      for (const name of ["a/b/.env", "c/d/.env", "e/.env"]) {
        fs.mkdirSync(path.dirname(at(name)), { recursive: true })
        fs.writeFileSync(at(name), "SECRET")
      }
      const notes: Array<string> = []
      const say = (note: string) => Effect.sync(() => notes.push(note))
      const isHidden = (file: string): Action => file.endsWith(".env") ? "ask" : "allow"
      const line = "find . -name .env -exec cat {} +; ls a c e"
      yield* Effect.gen(function*() {
        expect((yield* run(line, { reads: isHidden, say })).output).not.toContain("SECRET")
        // Those deeper than the first level were not checked.
        expect(notes).toEqual([expect.stringContaining("does not see a/b, c/d")])
      }).pipe(Effect.provide(layerIn(top, { checked: { directories: 4 } })))
      yield* Effect.gen(function*() {
        expect((yield* run(line, { reads: isHidden, say })).output).not.toContain("SECRET")
        expect(notes).toHaveLength(1)
      }).pipe(Effect.provide(layerIn(top)))
    })))
})
