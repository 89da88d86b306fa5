/** Owns the timeouts of runs that wait for a slot. */
import * as Context from "effect/Context"
import * as Layer from "effect/Layer"
import { type Alarm, makeAlarms } from "../fibers.ts"

/** Calls back at given times. */
export class Alarms extends Context.Tag("@skein/core/internal/tasks/Alarms")<Alarms, { readonly set: Alarm }>() {
  /** Alarms that end with the layer. */
  static readonly layer = Layer.scoped(Alarms, makeAlarms)
}
