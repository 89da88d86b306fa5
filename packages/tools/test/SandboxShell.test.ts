/** Commands that run in the sandbox as they run outside of it: asked to end first, bounded, and never left behind. */
import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import { describe, expect, it } from "@effect/vitest"
import * as NodeOwner from "@skein/tools/NodeOwner"
import { Processes } from "@skein/tools/Processes"
import { Shell } from "@skein/tools/Shell"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import { spawnSync } from "node:child_process"
import * as fs from "node:fs"
import * as path from "node:path"
import { git, layerIn, works, world } from "./support/sandbox.ts"

/** A repository, and what runs a line in it. */
const place = Effect.gen(function*() {
  const { at, repo, top } = yield* world
  const bin = path.join(top, "bin")
  const processes = Processes.layer({ dataDirectory: path.join(top, "data"), environment: {} })
  const context = yield* Layer.build(
    Shell.layer({ environment: { PATH: `${bin}:${process.env["PATH"]}` } }).pipe(
      Layer.provide(Layer.mergeAll(layerIn(top), NodeFileSystem.layer, Layer.provide(processes, NodeOwner.layer)))
    )
  )
  const spilled = path.join(top, "spilled")
  const run = (command: string, timeout = 30_000) =>
    Effect.provide(
      Effect.flatMap(Shell, (shell) =>
        shell.run({
          command,
          directory: repo,
          timeout,
          spill: Effect.sync(() => (fs.rmSync(spilled, { force: true }), spilled)),
          watch: () => Effect.void
        })),
      context
    ).pipe(Effect.provide(Logger.remove(Logger.defaultLogger)))
  return { at, bin, repo, run, top, spilled: () => fs.statSync(spilled).size }
})

/** Waits for what is outside of Effect; fails by the test's own timeout. */
const until = (holds: () => boolean): Effect.Effect<void> =>
  Effect.suspend(() =>
    holds()
      ? Effect.void
      : Effect.zipRight(Effect.promise(() => new Promise((resolve) => setTimeout(resolve, 20))), until(holds))
  )

const isThere = (line: string): boolean => spawnSync("ps", ["-eo", "args"], { encoding: "utf8" }).stdout.includes(line)

describe.skipIf(!works)("a command in a sandbox (needs bubblewrap)", () => {
  it.scopedLive("that is cut off is asked to end first, and can put things away", () =>
    Effect.gen(function*() {
      const { at, run } = yield* place
      const line = "trap 'sleep 0.1; echo bye > bye; exit' TERM; echo > begun; while :; do sleep 0.01; done"
      const fiber = yield* Effect.fork(run(line))
      yield* until(() => fs.existsSync(at("begun")))
      yield* Fiber.interrupt(fiber)
      expect(fs.readFileSync(at("bye"), "utf8")).toBe("bye\n")
    }))

  it.scopedLive("has its last words read, however late the machine gets to them", () =>
    Effect.gen(function*() {
      const { bin, run } = yield* place
      fs.mkdirSync(bin)
      const late = `#!/bin/sh\nsleep 0.2\nexec ${spawnSync("which", ["cat"], { encoding: "utf8" }).stdout.trim()}\n`
      fs.writeFileSync(path.join(bin, "cat"), late, { mode: 0o755 })
      expect(yield* run("echo last words; exit 3")).toMatchObject({ exit: 3, output: "last words\n" })
    }))

  it.scopedLive("that ignores this is ended all the same, with all that it has started", () =>
    Effect.gen(function*() {
      const { at, run } = yield* place
      const name = `sleep 7${process.pid}.5`
      const line =
        `trap '' TERM; (env -i setsid sh -c "trap '' TERM; ${name}; :" &); echo > begun; while :; do ${name}; done`
      const fiber = yield* Effect.fork(run(line))
      yield* until(() => fs.existsSync(at("begun")) && isThere(name))
      yield* Fiber.interrupt(fiber)
      expect(isThere(name)).toBe(false)
    }))

  it.scopedLive("leaves nothing, whenever it is cut off", () =>
    Effect.gen(function*() {
      const { at, run, top } = yield* place
      // From then on it is known that there is a sandbox.
      yield* run("true")
      const before = fs.readdirSync(path.dirname(at("x")))
      const name = `sleep 8${process.pid}.5`
      for (const delay of [0, 1, 2, 4, 8, 12, 16, 24, 32, 48, 64]) {
        const fiber = yield* Effect.fork(run(`(setsid ${name} &); ${name}`))
        // An instant is what is wanted here, and not that anything has happened by then.
        yield* Effect.sleep(delay)
        yield* Fiber.interrupt(fiber)
        expect(isThere(name), String(delay)).toBe(false)
        expect(fs.readdirSync(path.dirname(at("x"))), String(delay)).toEqual(before)
      }
      expect(fs.readdirSync(path.join(top, "data", "processes"))).toEqual([])
    }))

  it.scopedLive("is refused in words where its directory was removed", () =>
    Effect.gen(function*() {
      const { repo, run } = yield* place
      fs.rmSync(repo, { recursive: true })
      expect((yield* Effect.flip(run("true"))).message).toContain(`the directory ${repo} is gone`)
    }))

  it.scopedLive("ends with its shell, whatever it has left, and its output is bounded", () =>
    Effect.gen(function*() {
      const { run, spilled } = yield* place
      expect(yield* run("sleep 100 & echo ended")).toMatchObject({ exit: 0, output: "ended\n" })
      expect(yield* run("(setsid yes & yes & disown); exit 7")).toMatchObject({ exit: 7 })
      const { output, timedOut } = yield* run("yes | tr -d '\\n'", 1_000)
      expect(timedOut).toBe(true)
      expect(output.length).toBeLessThan(51_200)
      expect(spilled()).toBeLessThanOrEqual(64 * 1024 * 1024)
    }))

  it.scopedLive("may make a repository; moves away its hooks and programs, and reports them", () =>
    Effect.gen(function*() {
      const { at, repo, run } = yield* place
      const fresh = Effect.sync(() => fs.rmSync(at(".git"), { recursive: true }))
      yield* fresh
      const plain = yield* run(
        "git init -q -b main . && git add a.txt && git -c user.name=t -c user.email=t@e.com commit -qm x"
      )
      expect(plain).toMatchObject({ exit: 0, output: "" })
      yield* fresh
      const hooked = yield* run(
        "git init -q . && echo 'touch pwned' > .git/hooks/pre-commit && chmod +x .git/hooks/pre-commit"
      )
      expect(hooked.output).toMatch(
        /^\n?\[\.git\/hooks is protected.*git would run what is in it.*\.git\/hooks\.set-aside.*\]$/
      )
      expect(fs.existsSync(at(".git/hooks"))).toBe(false)
      expect(fs.readdirSync(at(".git/hooks.set-aside"))).toContain("pre-commit")
      yield* fresh
      const evil = [
        "git init -q . && git config core.fsmonitor ./x",
        "git init -q . && git config core.hooksPath x",
        "git init -q . && printf '[include]\\n path = ../x\\n' >> .git/config",
        "git init -q . && printf '[remote \"o\"] \\n url = ext::sh -c x\\n' >> .git/config",
        "git init -q . && git config filter.x.clean ./x",
        "mkdir sub && git init -q --bare sub/git && echo 'gitdir: sub/git' > .git",
        "git init -q sub2 && ln -s sub2/.git .git"
      ]
      for (const line of evil) {
        expect((yield* run(line)).output, line).toContain("[.git is protected")
        expect(fs.existsSync(at(".git")), line).toBe(false)
      }
      expect(fs.readdirSync(repo).filter((name) => name.startsWith(".git.set-aside"))).toHaveLength(evil.length)
    }))

  it.scopedLive("finds protected names that are links as they were", () =>
    Effect.gen(function*() {
      const { at, run } = yield* place
      fs.mkdirSync(at("docs/ai"), { recursive: true })
      fs.writeFileSync(at("docs/ai/rules"), "mine")
      fs.symlinkSync("docs/ai", at(".claude"))
      fs.symlinkSync("docs/ai/rules", at("AGENTS.md"))
      const lines = [
        "echo x > .claude/rules",
        "echo x > AGENTS.md",
        "mv docs d && mkdir -p docs/ai && echo x > AGENTS.md"
      ]
      for (const line of lines) expect(yield* run(line), line).not.toMatchObject({ exit: 0 })
      const { output } = yield* run("rm .claude AGENTS.md && mkdir .claude && echo x > .claude/settings.json")
      expect(output).toMatch(/^\[\.claude is protected.*is now \.claude\.set-aside\./m)
      expect(fs.readlinkSync(at(".claude"))).toBe("docs/ai")
      expect(fs.readlinkSync(at("AGENTS.md"))).toBe("docs/ai/rules")
      expect(fs.readFileSync(at("AGENTS.md"), "utf8")).toBe("mine")
    }))

  it.scopedLive("changes nothing that git runs in the repositories of a tree either", () =>
    Effect.gen(function*() {
      const { at, run, top } = yield* place
      for (const name of ["one", "group/two"]) {
        fs.mkdirSync(at(name), { recursive: true })
        git(at(name), "init", "-q", "-b", "main")
      }
      fs.mkdirSync(at("three"))
      fs.writeFileSync(at("three/.git"), "gitdir: ../.git/modules/three\n")
      const lines = [
        "echo x > one/.git/hooks/pre-commit",
        "git -C group/two config core.fsmonitor x",
        "mv one o && mkdir -p one/.git/hooks",
        "mv group g && mkdir -p group",
        "echo 'gitdir: ../x' > three/.git"
      ]
      for (const line of lines) expect(yield* run(line), line).not.toMatchObject({ exit: 0 })
      git(at("."), "worktree", "add", "-q", path.join(top, "tree"))
      for (
        const line of [
          "echo ../../../evil > .git/worktrees/tree/commondir",
          "mv .git/worktrees w",
          "mv .git/worktrees/tree w"
        ]
      ) {
        expect(yield* run(line), line).not.toMatchObject({ exit: 0 })
      }
      for (const name of [".git", "group/two/.git"]) {
        const { output } = yield* run(`echo ../evil > ${name}/commondir`)
        expect(output).toContain(`[${name}/commondir is protected`)
        expect(fs.existsSync(at(`${name}/commondir`))).toBe(false)
      }
      const line = "cd group/two && echo b > b && git add b && git -c user.name=t -c user.email=t@e.com commit -qm b"
      expect(yield* run(line)).toEqual({ exit: 0, output: "", timedOut: false })
    }))
})
