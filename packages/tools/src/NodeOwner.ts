/** Names this process, so that others on the same machine can tell whether it still runs, and end what it left. */
import { Owner, withAddress } from "@skein/core/Owner"
import { type Machine, machineKey } from "@skein/core/Whereabouts"
import type { SessionID } from "@skein/domain/Id"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Layer from "effect/Layer"
import * as Random from "effect/Random"
import { createHmac } from "node:crypto"
import { readFileSync, readlinkSync } from "node:fs"
import { hostname } from "node:os"
import { endedInTime, killTrees, look } from "./internal/process/processes.ts"

/** Trees whose commands are about to be ended. */
interface Batch {
  readonly rootIDs: Set<SessionID>
  readonly over: Deferred.Deferred<void>
}

/** Makes what ends the commands of a tree. It completes when they have ended, or after a second. */
export const makeEvictions = (): (rootID: SessionID) => Effect.Effect<void> => {
  let next: Batch | undefined

  const lead = (batch: Batch) =>
    Effect.yieldNow().pipe(
      Effect.zipRight(Effect.suspend(() => {
        next = undefined
        return endedInTime(killTrees(batch.rootIDs))
      })),
      Effect.intoDeferred(batch.over),
      Effect.uninterruptible
    )

  return (rootID) =>
    Effect.gen(function*() {
      const found = next
      found?.rootIDs.add(rootID)
      if (found !== undefined) return yield* Deferred.await(found.over)
      const batch: Batch = { rootIDs: new Set([rootID]), over: yield* Deferred.make<void>() }
      next = batch
      yield* lead(batch)
    })
}

/** The value if the system does not know. */
const unknown = "-"

const told = (read: () => string): string => Either.getOrElse(Either.try(read), () => unknown)

/** The machine's boot and the namespace of process ids: processes with the same value can see each other. */
const placeOf = (): string => {
  // A /proc of another namespace describes other processes.
  if (told(() => readlinkSync("/proc/self")) !== String(process.pid)) return unknown
  const boot = told(() => readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim())
  const namespace = told(() => readlinkSync("/proc/self/ns/pid").replace(/\D/g, ""))
  return boot === unknown || namespace === unknown || namespace === "" ? unknown : `${boot}.${namespace}`
}

/**
 * What tells this machine from others: its id, of which nothing can be found out from the result, as those who define it ask
 * for. Containers may have none.
 */
const machineID = (): string | undefined => {
  const id = told(() => readFileSync("/etc/machine-id", "utf8").trim())
  return /^[0-9a-f]{32}$/.test(id)
    ? createHmac("sha256", id).update("skein machine").digest("hex").slice(0, 12)
    : undefined
}

/** This machine. */
export const machine = (): Machine => {
  const id = machineID()
  return { host: hostname(), ...(id === undefined ? {} : { machine: id }) }
}

const isMissing = (pid: number): boolean =>
  Either.match(Either.try(() => process.kill(pid, 0)), {
    // A process of another user exists, although it may not be signalled.
    onLeft: (cause) => cause instanceof Error && "code" in cause && cause.code === "ESRCH",
    onRight: () => false
  })

/** Whether a process has ended, or another process has its id by now. A zombie has ended. */
const isGone = (pid: number, began: string): boolean => {
  if (isMissing(pid)) return true
  const found = look(pid)
  return found !== undefined && (found.began !== began || found.state === "Z" || found.state === "X")
}

/**
 * `machine:pid:start:place:number`. The number distinguishes several owners in one process. Whether an owner on another
 * machine, in another container or without /proc still runs is unknown: its leases have to expire.
 */
const make = (url?: string) =>
  Effect.map(Random.nextIntBetween(0, 2 ** 32), (number) => {
    const place = placeOf()
    const began = look(process.pid)?.began ?? unknown
    const evict = makeEvictions()
    const isNear = (owner: string) => place !== unknown && owner.split(":").at(-2) === place
    const id = [machineKey(machine()), process.pid, began, place, number.toString(36)].join(":")
    return {
      id: url === undefined ? id : withAddress(id, url),
      isGone: (owner: string) =>
        Effect.sync(() => {
          const [pid = "", start = ""] = owner.split(":").slice(-4)
          return isNear(owner) && /^[1-9]\d*$/.test(pid) && /^\d+$/.test(start)
            && isGone(Number(pid), start)
        }),
      evict: (owner: string, rootID: SessionID) =>
        isNear(owner)
          ? Effect.as(evict(rootID), true)
          : Effect.succeed(false)
    }
  })

/** This process, as others on the machine know it. */
export const layer: Layer.Layer<Owner> = Layer.effect(Owner, make())

/** This process, with the URL of its API in its name. */
export const layerAt = (url: string): Layer.Layer<Owner> => Layer.effect(Owner, make(url))
