/** Servers of one user with a data directory each: a task continues in the worktree that another server has made. */
import { describe, expect, it } from "@effect/vitest"
import { Isolation } from "@skein/core/Isolation"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as NodeFs from "node:fs"
import * as NodePaths from "node:path"
import { enterPlace } from "../src/internal/secretFiles.ts"
import { ground, task } from "./repository.ts"

const of = (directory: string, name: string | number = 1) => ({ directory, taskID: task(name), description: "d" })

/** The first program has entered its data directory, and another one with another data directory knows the register. */
const two = Effect.gen(function*() {
  const all = yield* ground
  const repo = all.repository()
  const register = all.at("register")
  yield* enterPlace(register, { dataDirectory: all.at("data"), secret: [] })
  const program = all.program({ dataDirectory: all.at("other"), register })
  return { ...all, repo, register, second: yield* Effect.provide(Isolation, yield* Layer.build(program)) }
})

describe("a worktree in the data directory of another server", () => {
  it.scoped("is continued where it is, and closed with its record", () =>
    Effect.gen(function*() {
      const { list, open, repo, second, traces } = yield* two
      const first = yield* open(of(repo))
      NodeFs.writeFileSync(NodePaths.join(first.root, "a.txt"), "of the task\n")
      expect(yield* second.open({ ...of(repo), root: first.root })).toEqual(first)
      expect(NodeFs.readFileSync(NodePaths.join(first.root, "a.txt"), "utf8")).toBe("of the task\n")
      expect(yield* second.close(task(1))).toMatchObject({ kept: true, directory: first.root, uncommitted: 1 })
      expect(yield* list).toHaveLength(1)

      NodeFs.writeFileSync(NodePaths.join(first.root, "a.txt"), "a\n")
      expect(yield* second.close(task(1))).toEqual({ kept: false })
      expect([yield* list, yield* second.list, traces(repo)]).toEqual([[], [], []])
    }))

  it.scoped("is made again at its place, where the session of its task works", () =>
    Effect.gen(function*() {
      const { close, open, repo, second } = yield* two
      const first = yield* open(of(repo))
      expect(yield* close(task(1))).toEqual({ kept: false })
      expect(yield* second.open({ ...of(repo), root: first.root })).toEqual(first)
      expect(NodeFs.existsSync(NodePaths.join(first.root, "a.txt"))).toBe(true)
    }))

  it.scoped("is closed by a server that has not opened it, and listed by the one that made it", () =>
    Effect.gen(function*() {
      const { list, open, repo, second } = yield* two
      yield* open(of(repo))
      expect([yield* Effect.map(list, ({ length }) => length), yield* second.list]).toEqual([1, []])
      expect(yield* second.close(task(1))).toEqual({ kept: false })
      expect(yield* list).toEqual([])
    }))

  it.scoped("is refused with its place if its data directory is not in the register", () =>
    Effect.gen(function*() {
      const { list, open, register, repo, second } = yield* two
      const { root } = yield* open(of(repo))
      NodeFs.rmSync(register, { recursive: true })
      const refused = yield* Effect.flip(second.open({ ...of(repo), root }))
      expect(refused.message).toContain(`The worktree of this task is ${root}, in a data directory that this server`)
      expect((yield* Effect.flip(second.close(task(1)))).reason).toBe("not_found")
      expect((yield* list).map(({ directory }) => directory)).toEqual([root])
    }))

  it.scoped("is not taken for another task, another repository or another place", () =>
    Effect.gen(function*() {
      const { at, git, list, open, repo, repository, second, write } = yield* two
      const { root } = yield* open(of(repo))
      // The place of another task counts for nothing: this one gets its own worktree, in the own data directory.
      expect((yield* second.open({ ...of(repo, 2), root })).root).toContain(at("other"))
      const elsewhere = repository("elsewhere")
      expect((yield* second.open({ ...of(elsewhere), root })).root).toContain(at("other"))
      expect((yield* list).map(({ directory }) => directory)).toEqual([root])
      // A directory and a branch of that name that are not recorded are the user's.
      git(repo, "branch", "skein/ses_3")
      const foreign = NodePaths.join(NodePaths.dirname(root), "ses_3")
      write(NodePaths.join(foreign, "mine"), "mine\n")
      const refused = yield* Effect.flip(second.open({ ...of(repo, 3), root: foreign }))
      expect(refused.message).toContain(`There is ${foreign} already, and Skein does not know it.`)
      expect(NodeFs.readFileSync(NodePaths.join(foreign, "mine"), "utf8")).toBe("mine\n")
    }))

  it.scoped("is that of a task only by its record, whatever a session says", () =>
    Effect.gen(function*() {
      const { at, open, repo, second } = yield* two
      const { root } = yield* open(of(repo))
      const contains = (directory: string, name: number, top = root) =>
        second.contains({ taskID: task(name), root: top, directory })
      NodeFs.symlinkSync(at("home"), NodePaths.join(root, "link"))
      for (const inside of [root, NodePaths.join(root, "sub")]) expect(yield* contains(inside, 1), inside).toBe(true)
      for (const outside of [repo, NodePaths.join(root, "..", ".."), NodePaths.join(root, "link"), `${root}x`]) {
        expect(yield* contains(outside, 1), outside).toBe(false)
        expect(yield* contains(outside, 1, outside), outside).toBe(false)
      }
      expect([yield* contains(root, 2), yield* contains(root, 4), yield* contains(repo, 4, repo)]).toEqual([
        false,
        false,
        false
      ])
    }))
})
