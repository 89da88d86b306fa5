/** Logs who joins and leaves the cluster, who falls silent and is back, and who has died; and measures how many there are. */
import { setServers } from "@skein/core/Metrics"
import { now as currentTime } from "@skein/core/MonotonicClock"
import { hostOf, Owner, pidOf } from "@skein/core/Owner"
import * as Effect from "effect/Effect"
import { isSilent, type Member } from "./entries.ts"

/** What one is known as: `silent` was not seen for some seconds, `dead` is one whose process has certainly ended. */
type State = "alive" | "silent" | "dead"

/** A server and its state. */
interface Seen extends Pick<Member, "owner" | "url" | "silence"> {
  readonly state: State
}

/** A line of the log. */
interface Line {
  readonly isWarning: boolean
  readonly text: string
}

/**
 * For how long after a time without the database nobody is called silent, in milliseconds: the others could not say that they
 * are there either.
 */
const grace = 10_000

const inSeconds = (milliseconds: number): string => `${Math.round(milliseconds / 1_000)} s`

const processOf = (owner: string): string => `process ${pidOf(owner) ?? "?"} on the host ${hostOf(owner) ?? "?"}`

const news = (text: string): ReadonlyArray<Line> => [{ isWarning: false, text }]
const warning = (text: string): ReadonlyArray<Line> => [{ isWarning: true, text }]

const changeOf = (before: Seen | undefined, { owner, silence, state, url }: Seen): ReadonlyArray<Line> => {
  if (state === before?.state) return []
  if (state === "dead") {
    return warning(`The server ${url} is dead: its ${processOf(owner)} has ended. The others continue its trees.`)
  }
  if (state === "silent") {
    return warning(
      `The server ${url} is silent: it was last seen ${inSeconds(silence)} ago. The others continue its trees.`
    )
  }
  if (before === undefined) return news(`The server ${url} has joined the cluster (${processOf(owner)}).`)
  return news(`The server ${url} is back.`)
}

/** What is new since the look before. */
const changes = (before: ReadonlyMap<string, Seen>, now: ReadonlyMap<string, Seen>): ReadonlyArray<Line> => [
  ...[...now].flatMap(([owner, seen]) => changeOf(before.get(owner), seen)),
  ...[...before].flatMap(([owner, { state, url }]) => {
    if (now.has(owner) || state === "dead") return []
    return state === "alive"
      ? news(`The server ${url} has left the cluster.`)
      : warning(`The server ${url} has not been seen for a minute, and is no longer listed.`)
  })
]

/** Who else is there, for the server at this address, when it starts. */
const firstText = (url: string, others: ReadonlyMap<string, Seen>): string => {
  const alive = [...others.values()].flatMap((other) => other.state === "alive" ? [other.url] : [])
  return `${url} has joined the cluster. ${
    alive.length === 0 ? "No other server is in it." : `Other servers in it: ${alive.toSorted().join(", ")}.`
  }`
}

/** Makes a look at the servers; `read` gives nothing while the database is out of reach. */
export const makeWatchServers = (url: string, read: Effect.Effect<ReadonlyArray<Member> | undefined>) =>
  Effect.map(Owner, (owner) => {
    let before: ReadonlyMap<string, Seen> | undefined
    let unread = Number.NEGATIVE_INFINITY

    const stateOf = (member: Member) =>
      Effect.map(owner.isGone(member.owner), (isGone): State => isGone ? "dead" : isSilent(member) ? "silent" : "alive")

    return Effect.gen(function*() {
      const now = yield* currentTime
      const members = yield* read
      if (members === undefined) {
        unread = now
        return
      }
      const seen = yield* Effect.forEach(
        members,
        (member): Effect.Effect<Seen> =>
          Effect.map(stateOf(member), (state) => ({
            owner: member.owner,
            url: member.url,
            silence: member.silence,
            state: state === "silent" && now - unread < grace ? before?.get(member.owner)?.state ?? "alive" : state
          }))
      )
      for (const state of ["alive", "silent", "dead"] as const) {
        setServers(state, seen.filter((each) => each.state === state).length)
      }
      const others = new Map(seen.flatMap((each) => each.owner === owner.id ? [] : [[each.owner, each] as const]))
      if (before === undefined) yield* Effect.logInfo(firstText(url, others))
      for (const { isWarning, text } of before === undefined ? [] : changes(before, others)) {
        yield* isWarning ? Effect.logWarning(text) : Effect.logInfo(text)
      }
      before = others
    })
  })
