import { describe, expect, it, vi } from "@effect/vitest"
import { Sandbox } from "@skein/tools/Sandbox"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Scope from "effect/Scope"
import { spawnSync } from "node:child_process"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { git, layerIn, runIn, works, world, worldIn } from "./support/sandbox.ts"

describe.skipIf(!works)("a sandbox (needs bubblewrap)", () => {
  it.live("lets commands change their tree and a temporary directory of their own, and nothing else", () =>
    Effect.scoped(Effect.gen(function*() {
      const { at, repo, top } = yield* world
      yield* Effect.gen(function*() {
        const run = (line: string) => runIn({ directory: repo, approved: [] }, line)
        expect(yield* run("echo b > b.txt && mkdir -p deep/er && echo c > deep/er/c && rm a.txt")).toMatchObject({
          code: 0
        })
        expect(fs.readFileSync(at("b.txt"), "utf8")).toBe("b\n")
        expect(fs.existsSync(at("a.txt"))).toBe(false)
        for (
          const line of [
            `echo x > ${top}/other/x`,
            "echo x > /etc/skein-x",
            "echo x > ../x",
            "touch /usr/x",
            "mkdir ~/x"
          ]
        ) {
          expect(yield* run(line), line).not.toMatchObject({ code: 0 })
        }
        expect(fs.readdirSync(path.join(top, "other"))).toEqual([])
        const probe = `skein-probe-${process.pid}`
        expect(yield* run(`echo kept > /tmp/${probe} && test "$TMPDIR" = /tmp`)).toMatchObject({ code: 0 })
        expect(yield* run(`cat /tmp/${probe}`)).toMatchObject({ output: "kept\n" })
        expect(fs.existsSync(path.join("/tmp", probe))).toBe(false)
        expect(yield* run(`cat ${top}/data/spill/long.out`)).toMatchObject({ code: 0, output: "kept" })
      }).pipe(Effect.provide(layerIn(top)))
    })))

  it.live("runs beside those of programs with other data directories, which come and go in the same repository", () =>
    Effect.scoped(Effect.gen(function*() {
      const { at, repo, top } = yield* world
      const sandboxes = yield* Effect.forEach(["one", "two"], (name) =>
        Effect.map(
          Layer.build(Sandbox.layer({
            network: false,
            register: path.join(top, "state", "places"),
            dataDirectory: path.join(top, name),
            environment: { PATH: process.env["PATH"], HOME: path.join(top, "home") }
          })),
          Context.get(Sandbox)
        ))
      const scopes = yield* Effect.forEach(sandboxes, () => Scope.make())
      const [, second] = yield* Effect.forEach(
        sandboxes,
        ({ confine }, n) => Scope.extend(confine({ directory: repo, approved: [] }), scopes[n]!)
      )
      expect(fs.readdirSync(at(".git"))).toContain("modules")
      yield* Scope.close(scopes[0]!, Exit.void)
      const [file = "", ...args] = [...second!, "bash", "-c", "echo here"]
      expect(spawnSync(file, args, { cwd: repo, encoding: "utf8" })).toMatchObject({ status: 0, stdout: "here\n" })
      yield* Scope.close(scopes[1]!, Exit.void)
      expect(fs.readdirSync(at(".git"))).not.toContain("modules")
    })))

  it.live("keeps what is protected as it is, whether it is there or not (S55)", () =>
    Effect.scoped(Effect.gen(function*() {
      const { at, repo, top } = yield* world
      fs.mkdirSync(at(".vscode"))
      fs.writeFileSync(at(".vscode/settings.json"), "{}")
      fs.writeFileSync(at("AGENTS.md"), "mine")
      const config = fs.readFileSync(at(".git/config"), "utf8")
      const hooks = fs.readdirSync(at(".git/hooks"))
      const before = fs.readdirSync(repo)
      yield* Effect.gen(function*() {
        const run = (line: string) => runIn({ directory: repo, approved: [] }, line)
        for (
          const line of [
            "echo x > .git/hooks/pre-commit",
            "echo x >> .git/config",
            "git config core.fsmonitor ./x",
            "rm -rf .git/hooks",
            "mv .git old && mkdir -p .git/hooks && echo x > .git/hooks/pre-commit",
            "echo x > .git/config.worktree",
            "mkdir -p .git/modules/x",
            "echo ../../other/.git/objects > .git/objects/info/alternates",
            "mv .git/objects/info .git/objects/old",
            "echo x > .vscode/settings.json",
            "mv .vscode v && mkdir .vscode && echo x > .vscode/settings.json",
            "echo x >> AGENTS.md",
            "rm AGENTS.md"
          ]
        ) {
          expect(yield* run(line), line).not.toMatchObject({ code: 0 })
        }
        const notes: Array<string> = []
        const tell = (note: string) => Effect.sync(() => void notes.push(note))
        for (
          const [line, name] of [
            ["mkdir -p .skein/agent && echo x > .skein/agent/a.md", ".skein"],
            ["echo x > skein.json", "skein.json"],
            ["echo x > skein.jsonc", "skein.jsonc"],
            ["ln -s a.txt opencode.json", "opencode.json"],
            ["cp a.txt x && mv x .mcp.json", ".mcp.json"],
            ["mkdir .claude && echo x > .claude/settings.json", ".claude"],
            ["echo x > .envrc", ".envrc"]
          ] as const
        ) {
          yield* runIn({ directory: repo, approved: [], tell }, line)
          expect(fs.readdirSync(repo), line).toEqual([...before, `${name}.set-aside`].toSorted())
          expect(notes.splice(0), line).toEqual([
            expect.stringMatching(new RegExp(`^${name.replaceAll(".", "\\.")} is protected`))
          ])
          fs.rmSync(at(`${name}.set-aside`), { recursive: true })
        }
        expect(
          yield* run(
            "git -c user.name=t -c user.email=t@e.com commit -qam second --allow-empty && git add -A && git status --porcelain"
          )
        )
          .toEqual({ code: 0, output: "A  .vscode/settings.json\nA  AGENTS.md\n" })
      }).pipe(Effect.provide(layerIn(top)))
      expect(fs.readdirSync(repo)).toEqual(before)
      expect(fs.readFileSync(at(".git/config"), "utf8")).toBe(config)
      expect(fs.readdirSync(at(".git/hooks"))).toEqual(hooks)
      expect(fs.readFileSync(at("AGENTS.md"), "utf8")).toBe("mine")
    })))

  it.live("lets a command change what somebody has consented to, and plans", () =>
    Effect.scoped(Effect.gen(function*() {
      const { at, repo, top } = yield* world
      fs.mkdirSync(at(".skein/plans"), { recursive: true })
      fs.writeFileSync(path.join(top, "other/file"), "old")
      yield* Effect.gen(function*() {
        const approved = [path.join(top, "other/file"), path.join(top, "other/new"), at(".vscode/settings.json")]
        const place = { directory: repo, approved }
        const line =
          `echo new > ../other/file && echo new > ../other/new && mkdir .vscode && echo {} > .vscode/settings.json`
        expect(yield* runIn(place, line)).toEqual({ code: 0, output: "" })
        expect(yield* runIn(place, "echo x > .skein/plans/a.md")).toEqual({ code: 0, output: "" })
        expect(yield* runIn(place, "echo x > .skein/a.md")).not.toMatchObject({ code: 0 })
      }).pipe(Effect.provide(layerIn(top)))
      expect(fs.readFileSync(path.join(top, "other/file"), "utf8")).toBe("new\n")
      expect(fs.existsSync(at(".vscode/settings.json"))).toBe(true)
    })))

  it.live("has no network, no processes and no sockets but its own (S55)", () =>
    Effect.scoped(Effect.gen(function*() {
      const { repo, top } = yield* world
      yield* Effect.gen(function*() {
        const run = (line: string) => runIn({ directory: repo, approved: [] }, line)
        for (
          const line of [
            "curl -m 3 http://127.0.0.1:9/",
            "wget -T 3 -t 1 http://127.0.0.1:9/",
            "ping -c 1 -W 1 127.0.0.2x",
            "nc -w 1 192.0.2.1 80",
            "ssh -o ConnectTimeout=1 192.0.2.1",
            "getent hosts example.com",
            "exec 3<>/dev/tcp/192.0.2.1/80",
            `kill -0 ${process.pid}`,
            `cat /proc/${process.pid}/environ`,
            "ls /run/*/*"
          ]
        ) {
          expect(yield* run(line), line).not.toMatchObject({ code: 0 })
        }
        expect((yield* run("cat /proc/net/dev | grep -c :")).output).toBe("1\n")
      }).pipe(Effect.provide(layerIn(top)))
    })))

  it.live("works in a tree below /tmp as well, and leaves what is beside it alone", () =>
    Effect.scoped(Effect.gen(function*() {
      const { at, repo, top } = yield* worldIn(os.tmpdir())
      const line = "echo b > b.txt; echo x > ../x; echo x > ../other/x; git status --porcelain; cat a.txt"
      expect(yield* Effect.provide(runIn({ directory: repo, approved: [] }, line), layerIn(top))).toMatchObject({
        code: 0,
        output: expect.stringMatching(/^\?\? b\.txt\na/)
      })
      expect(fs.readFileSync(at("b.txt"), "utf8")).toBe("b\n")
      expect(fs.readdirSync(top).toSorted()).toEqual(["data", "other", "repo"])
      expect(fs.readdirSync(path.join(top, "other"))).toEqual([])
    })))

  it.live("takes all of a command along when it ends", () =>
    Effect.scoped(Effect.gen(function*() {
      const { repo, top } = yield* world
      const name = `skein-left-${process.pid}`
      yield* runIn(
        { directory: repo, approved: [] },
        `(setsid bash -c 'exec -a ${name} sleep 300' >/dev/null 2>&1 &) ; (env -i setsid sleep 300.${process.pid} >/dev/null 2>&1 &); sleep 0.2`
      ).pipe(Effect.provide(layerIn(top)))
      const left = spawnSync("ps", ["-eo", "args"], { encoding: "utf8" }).stdout
      expect(left).not.toContain(name)
      expect(left).not.toContain(`sleep 300.${process.pid}`)
    })))

  it.live("runs a line that takes the file of a worktree's repository for a directory", () =>
    Effect.scoped(Effect.gen(function*() {
      const { repo, top } = yield* world
      const tree = path.join(top, "tree")
      git(repo, "worktree", "add", "-q", "-b", "task", tree)
      const link = fs.readFileSync(path.join(tree, ".git"), "utf8")
      const inside = ["", "/config", "/hooks/pre-commit"].map((name) => path.join(tree, `.git${name}`))
      yield* Effect.gen(function*() {
        for (const more of [{ approved: inside }, { approved: [], reached: inside, visible: inside }]) {
          const place = { directory: tree, ...more }
          expect(yield* runIn(place, "cd .git; echo ran")).toMatchObject({ output: expect.stringContaining("ran\n") })
        }
      }).pipe(Effect.provide(layerIn(top)))
      expect(fs.readFileSync(path.join(tree, ".git"), "utf8")).toBe(link)
    })))

  it.live("lets a task in a worktree commit, and leaves hooks and config of the repository alone", () =>
    Effect.scoped(Effect.gen(function*() {
      const { at, repo, top } = yield* world
      const tree = path.join(top, "tree")
      git(repo, "worktree", "add", "-q", "-b", "task", tree)
      yield* Effect.gen(function*() {
        const run = (line: string) => runIn({ directory: tree, approved: [] }, line)
        expect(
          yield* run(
            "echo b > b && git add b && git -c user.name=t -c user.email=t@e.com commit -qm b && git log --oneline | wc -l"
          )
        )
          .toMatchObject({ code: 0, output: "2\n" })
        for (
          const line of [
            `echo x > ${repo}/.git/hooks/pre-commit`,
            "git config user.name x",
            `echo x > ${repo}/a.txt`,
            "echo x > .git",
            "echo ../../../x > $(git rev-parse --git-dir)/commondir",
            "mkdir -p $(git rev-parse --git-dir)/modules/x",
            `echo ${top}/other > ${repo}/.git/objects/info/alternates`,
            `mv ${repo}/.git/objects/info ${repo}/.git/objects/old`,
            `rm -rf ${repo}/.git/objects/info`
          ]
        ) {
          expect(yield* run(line), line).not.toMatchObject({ code: 0 })
        }
        // A file that says that it belongs to a repository which knows nothing of it opens nothing.
        const liar = path.join(top, "liar")
        fs.mkdirSync(liar)
        fs.writeFileSync(path.join(liar, ".git"), `gitdir: ${repo}/.git/worktrees/tree\n`)
        expect(yield* runIn({ directory: liar, approved: [] }, `touch ${repo}/.git/refs/heads/x`)).not.toMatchObject({
          code: 0
        })
      }).pipe(Effect.provide(layerIn(top)))
      expect(fs.readFileSync(at("a.txt"), "utf8")).toBe("a")
      expect(fs.readdirSync(at(".git/objects/info"))).toEqual([])
      expect(fs.readdirSync(at(".git/worktrees/tree"))).not.toContain("modules")
      // Without that directory, a task might make it.
      fs.rmdirSync(at(".git/objects/info"))
      const line = `mkdir ${repo}/.git/objects/info && echo ${top}/other > ${repo}/.git/objects/info/alternates`
      expect(yield* Effect.provide(runIn({ directory: tree, approved: [] }, line), layerIn(top)))
        .not.toMatchObject({ code: 0 })
      expect(fs.existsSync(at(".git/objects/info/alternates"))).toBe(false)
    })))

  it.live("puts nothing into the tree, and leaves nothing there, also for commands at once", () =>
    Effect.scoped(Effect.gen(function*() {
      const { at, repo, top } = yield* world
      const before = fs.readdirSync(repo).toSorted()
      yield* Effect.gen(function*() {
        const run = (line: string) => runIn({ directory: repo, approved: [] }, line)
        expect(yield* run("ls -A")).toEqual({ code: 0, output: `${before.join("\n")}\n` })
        expect(yield* run("git status --porcelain")).toEqual({ code: 0, output: "" })
        // What a watcher would see while a command runs.
        const fiber = yield* Effect.fork(run("echo > begun; sleep 30"))
        while (!fs.existsSync(at("begun"))) yield* Effect.sleep(5)
        expect(fs.readdirSync(repo).toSorted()).toEqual([...before, "begun"].toSorted())
        yield* Fiber.interrupt(fiber)
        fs.rmSync(at("begun"))
        yield* Effect.forEach(
          Array.from({ length: 12 }),
          () => run("sleep 0.0$((RANDOM % 9)); echo x > skein.json"),
          { concurrency: "unbounded" }
        )
      }).pipe(Effect.provide(layerIn(top)))
      expect(fs.readdirSync(repo).filter((name) => !name.startsWith("skein.json.set-aside")).toSorted()).toEqual(before)
    })))

  it.live("does with an older bubblewrap, which cannot forbid namespaces, and takes all power from commands there as well", () =>
    Effect.scoped(Effect.gen(function*() {
      const { at, repo, top } = yield* world
      const bin = path.join(top, "bin")
      fs.mkdirSync(bin)
      const script = `case " $* " in *" --disable-userns "*) echo 'bwrap: Unknown option' >&2; exit 1;; esac\nexec ${
        spawnSync("sh", ["-c", "command -v bwrap"], { encoding: "utf8" }).stdout.trim()
      } "$@"\n`
      fs.writeFileSync(path.join(bin, "bwrap"), `#!/bin/sh\n${script}`, { mode: 0o755 })
      const environment = { PATH: `${bin}:${process.env["PATH"]}` }
      yield* Effect.gen(function*() {
        const run = (line: string) => runIn({ directory: repo, approved: [] }, line)
        expect(yield* run("grep CapBnd /proc/self/status; echo b > b")).toEqual({
          code: 0,
          output: `CapBnd:\t${"0".repeat(16)}\n`
        })
        expect(yield* run("umount .git/hooks || echo x > .git/hooks/x")).not.toMatchObject({ code: 0 })
      }).pipe(Effect.provide(layerIn(top, { environment })))
      expect(fs.existsSync(at("b"))).toBe(true)
    })))
})

describe("without bubblewrap", () => {
  const options = { network: false, dataDirectory: "/nowhere", environment: { PATH: "/nowhere" } }
  const confined = Effect.scoped(Effect.flatMap(Sandbox, ({ confine }) => confine({ directory: "/", approved: [] })))

  it.live("commands run as they are, which is said once", () =>
    Effect.gen(function*() {
      const said: Array<string> = []
      const logger = Logger.replace(Logger.defaultLogger, Logger.make(({ message }) => void said.push(String(message))))
      const twice = Effect.zip(confined, confined)
      expect(yield* Effect.provide(twice, Layer.provideMerge(Sandbox.layer(options), logger))).toEqual([[], []])
      expect(said).toEqual([
        expect.stringMatching(/^There is no sandbox for commands: bubblewrap \(bwrap\) was not found on PATH/)
      ])
    }))

  it.live("a user is told once on a machine, and again after it has changed", () =>
    Effect.gen(function*() {
      const dataDirectory = fs.mkdtempSync(path.join(os.tmpdir(), "skein-said-"))
      yield* Effect.addFinalizer(() => Effect.sync(() => fs.rmSync(dataDirectory, { recursive: true })))
      const said: Array<string> = []
      const logger = Logger.replace(
        Logger.defaultLogger,
        Logger.make(({ logLevel, message }) => void said.push(`${logLevel._tag}: ${String(message)}`))
      )
      const program = (environment: Record<string, string>) =>
        Effect.provide(confined, Layer.provideMerge(Sandbox.layer({ ...options, dataDirectory, environment }), logger))
      yield* program({ PATH: "/nowhere" })
      yield* program({ PATH: "/nowhere" })
      expect(said).toEqual([expect.stringMatching(/^Warning: There is no sandbox/)])
      const broken = path.join(dataDirectory, "bin")
      fs.mkdirSync(broken)
      fs.writeFileSync(path.join(broken, "bwrap"), "#!/bin/sh\nexit 1", { mode: 0o755 })
      yield* program({ PATH: `${broken}:${process.env["PATH"]}` })
      yield* program({ PATH: "/nowhere" })
      expect(said).toHaveLength(3)
    }).pipe(Effect.scoped))

  it.live("there is nothing to run them in where they must be confined", () =>
    Effect.gen(function*() {
      const error = yield* Effect.flip(Effect.provide(confined, Sandbox.layerRequired(options)))
      expect(error).toMatchObject({ _tag: "SandboxError", message: expect.stringContaining("`skein doctor`") })
    }))

  /** A bwrap that is a script: its directory, and what finds it there. */
  const fake = (script: string) =>
    Effect.map(
      Effect.acquireRelease(
        Effect.sync(() => fs.mkdtempSync(path.join(os.tmpdir(), "skein-bin-"))),
        (bin) => Effect.sync(() => fs.rmSync(bin, { recursive: true }))
      ),
      (bin) => {
        fs.writeFileSync(path.join(bin, "bwrap"), `#!/bin/sh\n${script}\n`, { mode: 0o755 })
        const environment = { PATH: `${bin}:${process.env["PATH"]}` }
        return { bin, options: { ...options, dataDirectory: path.join(bin, "data"), environment } }
      }
    )

  it.live("runs no command unconfined because there is no place for temporary files", () =>
    Effect.scoped(Effect.gen(function*() {
      const { bin, options } = yield* fake("echo 'sandboxed 2'")
      const missing = path.join(bin, "missing")
      yield* Effect.acquireRelease(
        Effect.sync(() => vi.stubEnv("TMPDIR", missing)),
        () => Effect.sync(() => vi.unstubAllEnvs())
      )
      yield* Effect.gen(function*() {
        const { message } = yield* Effect.flip(confined)
        expect(message).toMatch(/^its sandbox cannot be used now: no directory for temporary files could be made/)
        fs.mkdirSync(missing)
        expect(yield* confined).toContain("--unshare-all")
      }).pipe(Effect.provide(Sandbox.layer(options)))
    })))

  it.live("runs no command unconfined because the machine lacks something for a moment", () =>
    Effect.scoped(Effect.gen(function*() {
      const refusal = "bwrap: Creating new namespace failed: Resource temporarily unavailable"
      const { options } = yield* fake(
        `cd "$(dirname "$0")"; [ -e tried ] && { echo "sandboxed 2"; exit 0; }; touch tried; echo '${refusal}' >&2; exit 1`
      )
      yield* Effect.gen(function*() {
        const error = yield* Effect.flip(confined)
        expect(error).toMatchObject({ _tag: "SandboxError", message: expect.stringContaining("cannot be used now") })
        expect(yield* confined).toContain("--unshare-all")
      }).pipe(Effect.provide(Sandbox.layer(options)))
    })))

  const fakes = {
    "is refused by the system": [
      "echo 'bwrap: No permissions to create new namespace' >&2; exit 1",
      /No permissions to create new namespace/
    ],
    "confines nothing": ["while [ \"$1\" != -- ]; do shift; done; shift; exec \"$@\"", /confines nothing/],
    "talks nonsense": ["echo hello", /confines nothing/],
    "never ends": ["trap '' TERM; exec sleep 60", /did not end within 5 seconds/]
  } as const
  it.live.each(Object.entries(fakes))(
    "a bubblewrap that %s is none",
    ([, [script, why]]) =>
      Effect.scoped(Effect.gen(function*() {
        const { options } = yield* fake(script)
        const error = yield* Effect.flip(Effect.provide(confined, Sandbox.layerRequired(options)))
        expect(error).toMatchObject({ _tag: "SandboxError", message: expect.stringMatching(why) })
      }))
  )
})
