import { describe, expect, it } from "@effect/vitest"
import { Isolation } from "@skein/core/Isolation"
import { stride } from "@skein/testing/Seeds"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import { execFileSync } from "node:child_process"
import * as NodeFs from "node:fs"
import * as NodePaths from "node:path"
import { ground, task } from "./repository.ts"

const of = (directory: string, name: string | number = 1) => ({ directory, taskID: task(name), description: "" })

/** A pipe whose first words can be waited for. */
const pipe = (path: string) => {
  execFileSync("mkfifo", [path])
  return Effect.promise(() => NodeFs.promises.readFile(path, "utf8"))
}

/** Whether a process is there, and not only waiting for somebody to read how it ended. */
const isRunning = (pid: number) =>
  Either.match(Either.try(() => NodeFs.readFileSync(`/proc/${pid}/stat`, "utf8")), {
    onLeft: () => false,
    onRight: (stat) => !/\) [ZX] /.test(stat)
  })

describe("an open that is interrupted", () => {
  const moments = ["status", "update-ref", "worktree add", "reset", "ls-files"].flatMap((command) => [
    [command, "before it began"] as const,
    [command, "when it had done its work"] as const
  ])
  // By default every command at one of its moments; .ci/run tries all of them.
  const tried = stride === 1 ? moments : moments.filter((_, i) => i % 2 === Math.floor(i / 2) % 2)
  for (const [command, moment] of tried) {
    it.scoped(`in \`git ${command}\`, ${moment}, leaves nothing behind`, () =>
      Effect.gen(function*() {
        const { at, close, intercept, letThrough, list, open, possessions, repository, traces, write } = yield* ground
        const repo = repository()
        write("repo/a.txt", "dirty\n")
        const before = possessions(repo)
        const reached = pipe(at("reached"))
        const first = moment === "before it began" ? "" : "$git \"$@\""
        intercept(` ${command} `, `${first}\necho $$ > '${at("reached")}'\nexec tail -f /dev/null`)
        const opening = yield* Effect.fork(open(of(repo)))
        const pid = Number(yield* reached)
        expect(isRunning(pid)).toBe(true)
        letThrough()
        expect(Exit.isInterrupted(yield* Fiber.interrupt(opening))).toBe(true)
        expect(isRunning(pid)).toBe(false)
        expect(traces(repo)).toEqual([])
        expect(possessions(repo)).toEqual(before)
        expect(yield* list).toEqual([])

        yield* open(of(repo))
        expect(yield* close(task(1))).toEqual({ kept: false })
      }))
  }

  it.scoped("in the middle of writing files ends git and all that it started", () =>
    Effect.gen(function*() {
      const { at, commit, git, open, possessions, repository, traces, write } = yield* ground
      const repo = repository()
      write("repo/.gitattributes", "*.big filter=slow\n")
      for (const name of ["1", "2", "3"]) write(`repo/${name}.big`, name)
      commit(repo, "big files")
      git(repo, "config", "--global", "filter.slow.smudge", `echo $$ > '${at("reached")}'; exec tail -f /dev/null`)
      const before = possessions(repo)
      const reached = pipe(at("reached"))
      const opening = yield* Effect.fork(open(of(repo)))
      const pid = Number(yield* reached)
      expect(isRunning(pid)).toBe(true)
      yield* Fiber.interrupt(opening)
      expect(isRunning(pid)).toBe(false)
      expect(traces(repo)).toEqual([])
      expect(possessions(repo)).toEqual(before)
    }))

  it.scoped("leaves what the task had committed before", () =>
    Effect.gen(function*() {
      const { at, commit, git, intercept, letThrough, list, open, repository } = yield* ground
      const repo = repository()
      const first = yield* open(of(repo))
      NodeFs.writeFileSync(NodePaths.join(first.root, "a.txt"), "of the task\n")
      const head = commit(first.root, "of the task")
      NodeFs.rmSync(first.root, { recursive: true })
      const reached = pipe(at("reached"))
      intercept(" reset ", `$git "$@"\necho > '${at("reached")}'\nexec tail -f /dev/null`)
      const opening = yield* Effect.fork(open(of(repo)))
      yield* reached
      letThrough()
      yield* Fiber.interrupt(opening)
      expect(git(repo, "rev-parse", "skein/ses_1")).toBe(head)
      expect(NodeFs.existsSync(first.root)).toBe(false)
      expect(yield* list).toMatchObject([{ changes: { commits: 1, uncommitted: 0 } }])
      expect(yield* open(of(repo))).toEqual(first)
      expect(NodeFs.readFileSync(NodePaths.join(first.root, "a.txt"), "utf8")).toBe("of the task\n")
    }))
})

describe("a program that was killed", () => {
  for (const command of ["update-ref", "worktree add", "reset"]) {
    it.scoped(`in \`git ${command}\` leaves what the next open or removal puts in order`, () =>
      Effect.gen(function*() {
        const { at, close, git, intercept, letThrough, list, open, program, remove, repository, traces } = yield* ground
        const repo = repository()
        const { root } = yield* open(of(repo))
        const saved = ["data", NodePaths.join("repo", ".git")]
        yield* close(task(1))
        const reached = pipe(at("reached"))
        // The state in that moment is copied, as a program that is killed leaves it.
        const copies = saved.map((path) => `cp -a '${at(path)}' '${at(`copy of ${NodePaths.basename(path)}`)}'`)
        intercept(` ${command} `, `$git "$@"\n${copies.join("\n")}\necho > '${at("reached")}'\nexec tail -f /dev/null`)
        const opening = yield* Effect.fork(
          Effect.flatMap(Isolation, (other) => other.open(of(repo))).pipe(Effect.provide(program()))
        )
        yield* reached
        letThrough()
        yield* Fiber.interrupt(opening)
        for (const path of saved) {
          NodeFs.rmSync(at(path), { recursive: true })
          NodeFs.cpSync(at(`copy of ${NodePaths.basename(path)}`), at(path), { recursive: true })
        }
        expect(yield* list).toMatchObject([{ taskID: task(1), changes: "none" }])
        expect((yield* open(of(repo))).root).toBe(root)
        expect(git(root, "status", "--porcelain", "--branch")).toBe("## skein/ses_1")

        for (const path of saved) {
          NodeFs.rmSync(at(path), { recursive: true })
          NodeFs.cpSync(at(`copy of ${NodePaths.basename(path)}`), at(path), { recursive: true })
        }
        yield* remove(task(1))
        expect(traces(repo)).toEqual([])
      }))
  }
})

describe("many at once", () => {
  // Two programs may find a lock of the other, and then try again after a pause of the real clock.
  it.scopedLive("are opened and closed in one repository by two programs", () =>
    Effect.gen(function*() {
      const { close, commit, contains, list, open, possessions, program, repository, traces, write } = yield* ground
      const repo = repository()
      for (let index = 0; index < 50; index++) write(`repo/many/${index}`, `${index}\n`)
      commit(repo, "many files")
      const before = possessions(repo)
      const other = yield* Effect.provide(Isolation, yield* Layer.build(program()))
      const names = Array.from({ length: 20 }, (_, index) => String(index).padStart(2, "0"))
      const all = <A, E>(each: (name: string, isolation: typeof other) => Effect.Effect<A, E>) =>
        Effect.forEach(names, (name) =>
          each(name, Number(name) % 2 === 0 ? other : { open, close, contains, list, remove: other.remove }), {
          concurrency: "unbounded"
        })
      const workspaces = yield* all((name, isolation) =>
        isolation.open(of(repo, name))
      )
      expect(new Set(workspaces.map(({ root }) => root)).size).toBe(20)
      for (const { root } of workspaces) expect(NodeFs.readdirSync(NodePaths.join(root, "many"))).toHaveLength(50)
      expect(possessions(repo)).toEqual(before)
      expect((yield* list).map(({ changes }) => changes)).toEqual(names.map(() => "none"))
      NodeFs.writeFileSync(NodePaths.join(workspaces[7]!.root, "a.txt"), "of task 7\n")
      const ends = yield* all((name, isolation) => isolation.close(task(name)))
      expect(ends.map(({ kept }) => kept)).toEqual(names.map((name) => name === "07"))
      expect((yield* list).map(({ taskID }) => taskID)).toEqual([task("07")])
      yield* other.remove(task("07"), { force: true })
      expect(possessions(repo)).toEqual(before)
      expect(traces(repo)).toEqual([])
    }), 60_000)

  it.live("look again if another program removes its worktree meanwhile", () =>
    Effect.gen(function*() {
      const { at, intercept, open, repository } = yield* ground
      const repo = repository()
      const gone = `fatal: Invalid path '${repo}/.git/worktrees/ses_2': No such file or directory`
      const again = `[ "$(wc -l < '${at("tries")}')" -gt 1 ] && exec $git "$@"`
      intercept(" for-each-ref ", `echo >> '${at("tries")}'\n${again}\necho "${gone}" >&2\nexit 128`)
      yield* open(of(repo))
      expect(NodeFs.readFileSync(at("tries"), "utf8").length).toBeGreaterThan(1)
    }).pipe(Effect.scoped))

  it.scoped("of one task wait for each other", () =>
    Effect.gen(function*() {
      const { close, open, repository, traces } = yield* ground
      const repo = repository()
      const all = yield* Effect.all([open(of(repo)), open(of(repo)), open(of(repo))], { concurrency: "unbounded" })
      expect(new Set(all.map(({ root }) => root)).size).toBe(1)
      expect(yield* close(task(1))).toEqual({ kept: false })
      expect(traces(repo)).toEqual([])
    }))
})

describe("a lock", () => {
  it.scoped("of the user's index is in nobody's way", () =>
    Effect.gen(function*() {
      const { close, open, possessions, repository, write } = yield* ground
      const repo = repository()
      write("repo/.git/index.lock", "held")
      const before = possessions(repo)
      yield* open(of(repo))
      expect(yield* close(task(1))).toEqual({ kept: false })
      expect(possessions(repo)).toEqual(before)
    }))

  it.live("that another git lets go is waited for", () =>
    Effect.gen(function*() {
      const { at, intercept, open, repository, write } = yield* ground
      const repo = repository()
      const lock = at("repo", ".git", "refs", "heads", "skein", "ses_1.lock")
      write(lock, "")
      // The first try meets the lock, the next one does not.
      intercept(" update-ref ", `$git "$@"\ncode=$?\nrm -f '${lock}'\necho >> '${at("tries")}'\nexit $code`)
      yield* open(of(repo))
      expect(NodeFs.readFileSync(at("tries"), "utf8")).toBe("\n\n")
    }).pipe(Effect.scoped))

  it.live("that nobody lets go is named in the end", () =>
    Effect.gen(function*() {
      const { at, list, open, possessions, repository, write } = yield* ground
      const repo = repository()
      const lock = at("repo", ".git", "refs", "heads", "skein", "ses_1.lock")
      write(lock, "")
      const before = possessions(repo)
      const refused = yield* Effect.flip(open(of(repo)))
      expect(refused.message).toContain(`delete ${lock} if there is none`)
      expect(possessions(repo)).toEqual(before)
      expect(yield* list).toEqual([])
    }).pipe(Effect.scoped), 30_000)
})
