import { expect, it } from "@effect/vitest"
import { Owner } from "@skein/core/Owner"
import * as NodeOwner from "@skein/tools/NodeOwner"
import * as Effect from "effect/Effect"
import { type ChildProcess, spawn } from "node:child_process"
import { readFileSync } from "node:fs"
import { type Readable, Writable } from "node:stream"

/** When a process began, as the system counts it. */
const beganAt = (pid: number): string => {
  const stat = readFileSync(`/proc/${pid}/stat`, "utf8")
  return stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19] ?? ""
}

const nextData = (stream: Readable) =>
  Effect.async<string>((resume) => {
    stream.once("data", (bytes: Buffer) => resume(Effect.succeed(bytes.toString())))
  })

/** A process that waits, and the number of one below it that has ended and that it does not reap. */
const waiting = Effect.acquireRelease(
  Effect.gen(function*() {
    const script = "(read line <&3) & echo $!; exec cat"
    const child = spawn("sh", ["-c", script], { stdio: ["pipe", "pipe", "ignore", "pipe"] })
    const { stdin, stdio: [, , , below], stdout } = child
    if (stdin === null || stdout === null || !(below instanceof Writable)) return yield* Effect.dieMessage("no pipes")
    const dead = Number(yield* nextData(stdout))
    // What answers is no shell any more.
    stdin.write("are you there?")
    yield* nextData(stdout)
    below.end("\n")
    return { child, dead }
  }),
  ({ child }) => Effect.sync(() => child.kill("SIGKILL"))
)

const killed = (child: ChildProcess) =>
  Effect.async<void>((resume) => {
    child.once("exit", () => resume(Effect.void))
    child.kill("SIGKILL")
  })

const untilZombie = (pid: number): Effect.Effect<void> =>
  / Z /.test(readFileSync(`/proc/${pid}/stat`, "utf8"))
    ? Effect.void
    : Effect.zipRight(Effect.yieldNow(), Effect.suspend(() => untilZombie(pid)))

it.layer(NodeOwner.layer)("an owner on Linux", (it) => {
  it.scoped("knows of a process of this machine whether it is there, and that another one has its number", () =>
    Effect.gen(function*() {
      const owner = yield* Owner
      const [host, own, began, ...rest] = owner.id.split(":")
      const { child, dead } = yield* waiting
      const pid = child.pid ?? 0
      const idOf = (number: number, start: string) => [host, number, start, ...rest].join(":")
      const start = beganAt(pid)
      expect([own, began]).toEqual([String(process.pid), beganAt(process.pid)])
      expect(yield* owner.isGone(owner.id)).toBe(false)
      expect(yield* owner.isGone(idOf(pid, start))).toBe(false)
      expect(yield* owner.isGone(idOf(pid, String(Number(start) - 1)))).toBe(true)
      yield* untilZombie(dead)
      expect(yield* owner.isGone(idOf(dead, beganAt(dead)))).toBe(true)
      yield* killed(child)
      expect(yield* owner.isGone(idOf(pid, start))).toBe(true)
    }))

  it.effect("says nothing of processes that it cannot see", () =>
    Effect.gen(function*() {
      const owner = yield* Owner
      const [host, , began, place = "", number] = owner.id.split(":")
      const [boot, namespace] = place.split(".")
      const gone = 2 ** 22 + 1
      expect(yield* owner.isGone([host, gone, began, place, number].join(":"))).toBe(true)
      expect(yield* owner.isGone([host, gone, began, `${boot}.1${namespace}`, number].join(":"))).toBe(false)
      expect(yield* owner.isGone([host, gone, began, `other.${namespace}`, number].join(":"))).toBe(false)
      expect(yield* owner.isGone([host, gone, began, "-", number].join(":"))).toBe(false)
      expect(yield* owner.isGone("own_01abc")).toBe(false)
    }))
})

it.effect("two owners in one process are not the same", () =>
  Effect.gen(function*() {
    const one = yield* Effect.provide(Owner, NodeOwner.layer)
    const other = yield* Effect.provide(Owner, NodeOwner.layer)
    expect(one.id).not.toBe(other.id)
    expect(yield* one.isGone(other.id)).toBe(false)
  }))
