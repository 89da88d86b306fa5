/**
 * Owns the watchdog: a process beside this one that ends the commands of a tree when its lease runs out, all commands when
 * this process ends, also if it is frozen or was killed, and each command that has too many processes.
 */
import { leaseLength } from "@skein/core/Lease"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { makeWatchdog } from "./internal/watchdog/makeWatchdog.ts"
import { unwatched, type WatchdogPort } from "./Tracked.ts"

/** The watchdog of this process; without a layer there is none. */
export class Watchdog extends Context.Reference<Watchdog>()("@skein/tools/Watchdog", {
  defaultValue: (): WatchdogPort => ({
    watch: () => Effect.succeed(unwatched),
    extend: () => {}
  })
}) {
  /** A watchdog that starts with the first command, and ends with this process or with the scope. */
  static readonly layer: Layer.Layer<never> = Layer.scoped(Watchdog, makeWatchdog({ leaseLength }))

  /** A watchdog that knows no leases: commands end with this process, and not before. */
  static readonly layerWithoutLeases: Layer.Layer<never> = Layer.scoped(Watchdog, makeWatchdog({}))

  /** The same, but only for commands that would stay: those in a sandbox end with this process anyway. */
  static readonly layerOfStrays: Layer.Layer<never> = Layer.scoped(Watchdog, makeWatchdog({ isForStrays: true }))
}
