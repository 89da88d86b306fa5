/**
 * Defines ids: branded texts that sort in the order of their creation. An id is a prefix and 22 characters of
 * lower-case base 32: ten for milliseconds, four for a counter within one millisecond, and eight random ones. Ids of
 * one `Ids` service ascend strictly, even when the clock goes back.
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Random from "effect/Random"
import * as Schema from "effect/Schema"
import { PCGRandom } from "effect/Utils"

const id = <const Prefix extends string, const Name extends string>(prefix: Prefix, name: Name) =>
  Schema.String.pipe(
    Schema.pattern(new RegExp(`^${prefix}_[0-9a-z]+$`), { message: () => `an id that begins with ${prefix}_` }),
    Schema.brand(name)
  )

/** Names a session; the `task_id` of a task is the id of its child session. */
export const SessionID = id("ses", "SessionID")
/** The type of a session's id. */
export type SessionID = typeof SessionID.Type

/** Names a message. */
export const MessageID = id("msg", "MessageID")
/** The type of a message's id. */
export type MessageID = typeof MessageID.Type

/** Names a part of a message. */
export const PartID = id("prt", "PartID")
/** The type of a part's id. */
export type PartID = typeof PartID.Type

/** Names one run of a task: each resume of a task is a new run. */
export const RunID = id("run", "RunID")
/** The type of a run's id. */
export type RunID = typeof RunID.Type

/** Names a permission question. */
export const PermissionID = id("per", "PermissionID")
/** The type of a permission question's id. */
export type PermissionID = typeof PermissionID.Type

/** Names an event. */
export const EventID = id("evt", "EventID")
/** The type of an event's id. */
export type EventID = typeof EventID.Type

/** Names a process among those that share a storage. */
export const OwnerID = id("own", "OwnerID")
/** The type of an owner's id. */
export type OwnerID = typeof OwnerID.Type

/** Names a request to the process that holds a tree. */
export const ControlID = id("ctl", "ControlID")
/** The type of a control request's id. */
export type ControlID = typeof ControlID.Type

/** Each prefix with the id that it makes. */
export interface ByPrefix {
  readonly ses: SessionID
  readonly msg: MessageID
  readonly prt: PartID
  readonly run: RunID
  readonly per: PermissionID
  readonly evt: EventID
  readonly own: OwnerID
  readonly ctl: ControlID
}

const alphabet = "0123456789abcdefghjkmnpqrstvwxyz"

const pairs = Array.from({ length: 32 ** 2 }, (_, i) => alphabet.charAt(i >> 5) + alphabet.charAt(i % 32))

/** A number in base 32, with an even number of digits. */
const base32 = (value: number, length: number): string => {
  let text = ""
  let rest = value
  for (let i = 0; i < length; i += 2) {
    text = `${pairs[rest % pairs.length]}${text}`
    rest = Math.floor(rest / pairs.length)
  }
  return text
}

/** The time in an id, in milliseconds; 0 if there is none. */
const timeOf = (made: string): number => {
  let time = 0
  for (const digit of made.slice(made.indexOf("_") + 1).slice(0, 10)) {
    time = time * 32 + Math.max(0, alphabet.indexOf(digit))
  }
  return time
}

const counterLimit = 32 ** 4
const chanceLimit = 32 ** 8
const seed = Random.nextIntBetween(0, 2 ** 31)

/** An id that sorts before all ids made from this time on, and after earlier ones. */
export const earliest = <Prefix extends keyof ByPrefix>(prefix: Prefix, time: number) =>
  `${prefix}_${base32(time, 10)}${base32(0, 12)}` as ByPrefix[Prefix]

/** Makes ids from Clock and Random; one service per process keeps them ascending. */
export class Ids extends Context.Tag("@skein/domain/Id")<Ids, {
  /** Makes the next id with this prefix, greater than every earlier id of this service. */
  readonly make: <Prefix extends keyof ByPrefix>(prefix: Prefix) => Effect.Effect<ByPrefix[Prefix]>
  /** The same outside Effect, for callbacks: `now` is the time of a Clock, in milliseconds since 1970. */
  readonly unsafeMake: <Prefix extends keyof ByPrefix>(prefix: Prefix, now: number) => ByPrefix[Prefix]
  /** Makes all later ids greater than this one, which another process may have made with another clock. */
  readonly after: (id: string) => void
}>() {
  /** Ids that ascend from the layer's own counter; their random part is seeded from Random when the layer is built. */
  static readonly layer: Layer.Layer<Ids> = Layer.effect(
    Ids,
    Effect.map(Effect.all([seed, seed]), ([high, low]) => {
      const chance = new PCGRandom(high, low)
      let last = 0
      let count = 0
      const unsafeMake = <Prefix extends keyof ByPrefix>(prefix: Prefix, now: number) => {
        if (now > last) {
          last = now
          count = 0
        } else if (++count === counterLimit) {
          last += 1
          count = 0
        }
        const random = base32(Math.floor(chance.number() * chanceLimit), 8)
        return `${prefix}_${base32(last, 10)}${base32(count, 4)}${random}` as ByPrefix[Prefix]
      }
      const after = (other: string) => {
        const time = timeOf(other)
        // One millisecond more, because reading the counter of the other process is not worth it.
        if (time >= last) {
          last = time + 1
          count = 0
        }
      }
      return {
        after,
        unsafeMake,
        make: (prefix) => Effect.map(Clock.currentTimeMillis, (now) => unsafeMake(prefix, now))
      }
    })
  )
}
