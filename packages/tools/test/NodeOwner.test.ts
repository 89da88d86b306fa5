import { expect, it } from "@effect/vitest"
import { hostOf, machineOfOwner, Owner, pidOf, withAddress } from "@skein/core/Owner"
import { SessionID } from "@skein/domain/Id"
import * as NodeOwner from "@skein/tools/NodeOwner"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import { type ChildProcess, spawn } from "node:child_process"
import { existsSync, readFileSync } from "node:fs"
import { hostname } from "node:os"
import { type Readable, Writable } from "node:stream"
import { elapse } from "./support/processes.ts"

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

/** The owner that this process would be. */
const idOf = (owner: string, pid: number): string => {
  const [host, , , ...rest] = owner.split(":")
  const began = existsSync(`/proc/${pid}/stat`) ? beganAt(pid) : "1"
  return [host, pid, began, ...rest].join(":")
}

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

  it.scoped("ends the commands of trees that another owner left, with what they started, and no others", () =>
    Effect.gen(function*() {
      const owner = yield* Owner
      const command = (mark: string) =>
        Effect.acquireRelease(
          Effect.gen(function*() {
            const script = "(trap '' TERM; setsid sleep 9999) & sleep 9999 & echo $!; wait"
            const child = spawn("bash", ["-c", script], {
              detached: true,
              stdio: ["ignore", "pipe", "ignore"],
              env: { ...process.env, SKEIN_GROUP: mark }
            })
            const below = Number(yield* nextData(child.stdout))
            return { child, below, ended: new Promise<unknown>((resolve) => child.once("exit", resolve)) }
          }),
          ({ child }) => Effect.sync(() => child.kill("SIGKILL"))
        )
      const mine = yield* command("abcsesone")
      const third = yield* command("abcsesthree")
      const other = yield* command("abcsestwo")
      const evicting = yield* Effect.fork(
        Effect.forEach(
          ["ses_one", "ses_three"],
          (id) => owner.evict(owner.id.replace(/[^:]*$/, "other"), SessionID.make(id)),
          { concurrency: "unbounded" }
        )
      )
      yield* elapse(evicting)
      expect(yield* Fiber.join(evicting)).toEqual([true, true])
      for (const { below, ended } of [mine, third]) {
        yield* Effect.promise(() => ended)
        expect(yield* owner.isGone(idOf(owner.id, below))).toBe(true)
      }
      expect(yield* owner.isGone(idOf(owner.id, other.below))).toBe(false)
      process.kill(-(other.child.pid ?? 0), "SIGKILL")
    }))

  it.effect("does not say that it has ended commands that it cannot see", () =>
    Effect.gen(function*() {
      const owner = yield* Owner
      const [host, pid, began, , number] = owner.id.split(":")
      expect(yield* owner.evict([host, pid, began, "other.1", number].join(":"), SessionID.make("ses_one"))).toBe(false)
      expect(yield* owner.evict("own_01abc", SessionID.make("ses_one"))).toBe(false)
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

it.effect("an owner tells its host, with and without an address, and other names tell none", () =>
  Effect.gen(function*() {
    const { id } = yield* Effect.provide(Owner, NodeOwner.layer)
    expect(hostOf(id)).toBe(hostname())
    expect(hostOf(withAddress(id, "http://[fe80::1]:4096"))).toBe(hostname())
    expect(hostOf("own_01abc")).toBeUndefined()
    expect(machineOfOwner(id)).toEqual(NodeOwner.machine())
    expect(pidOf(withAddress(id, "http://[fe80::1]:4096"))).toBe(process.pid)
  }))

it.effect("two owners in one process are not the same", () =>
  Effect.gen(function*() {
    const one = yield* Effect.provide(Owner, NodeOwner.layer)
    const other = yield* Effect.provide(Owner, NodeOwner.layer)
    expect(one.id).not.toBe(other.id)
    expect(yield* one.isGone(other.id)).toBe(false)
  }))
