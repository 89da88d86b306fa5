/**
 * Decides which approvals hold in a tree: its own, and those of its project. The path of a project names another one on
 * another host, so where a database has several hosts, an approval holds on the host on which it was given.
 */
import type { SessionInfo } from "@skein/domain/SessionInfo"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { Leases } from "../../Leases.ts"
import { SessionStorage } from "../../SessionStorage.ts"
import { isOn, type Machine, machineKey, machineOf, Whereabouts } from "../../Whereabouts.ts"
import type { Approval } from "../../Write.ts"

type Tree = Pick<SessionInfo, "projectID" | "rootID">

const placeOf = ({ host, machine }: SessionInfo): Machine | undefined =>
  host === undefined ? undefined : { host, machine }

/** Makes what decides it. */
export const makeHolding = Effect.gen(function*() {
  const storage = yield* SessionStorage
  const leases = yield* Leases
  const whereabouts = yield* Whereabouts
  /** The hosts of approvals that do not say it; undefined if it is not known. */
  const givenOn = new Map<string, string | undefined>()

  /** The host of a tree: of one that does not say it, that on which it works. */
  const hostOf = (rootID: Tree["rootID"]) =>
    Effect.map(storage.session(rootID), (root) => Option.getOrUndefined(Option.map(root, placeOf)) ?? leases.machine)

  /** Older versions stored no host. It is known if all trees that the project had by then were on one, and stayed there. */
  const guess = Effect.fnUntraced(function*({ created, id, projectID }: Approval) {
    if (givenOn.has(id)) return givenOn.get(id)
    const { rows, unreadable } = yield* storage.sessions({ projectID, roots: true })
    const places = rows.filter(({ time }) => time.created <= created).map((root) =>
      root.workspace === undefined ? placeOf(root) : undefined
    )
    const hosts = new Set(places.map((place) => place === undefined ? undefined : machineKey(place)))
    const [host] = hosts.size === 1 && unreadable.length === 0 ? hosts : []
    givenOn.set(id, host)
    return host
  })

  return {
    /** The host by which an approval for the project of a tree is stored; undefined where the database has one host. */
    hostFor: (rootID: Tree["rootID"]) =>
      whereabouts.isDecided()
        ? Effect.map(hostOf(rootID), (own) => own === undefined ? undefined : machineKey(own))
        : Effect.succeed(undefined),
    /** The approvals that hold in a tree. */
    in: Effect.fnUntraced(function*({ projectID, rootID }: Tree) {
      const approvals = yield* storage.approvals(projectID, rootID)
      if (!whereabouts.isDecided() || approvals.every((each) => each.rootID !== undefined)) return approvals
      const own = yield* hostOf(rootID)
      return yield* Effect.filter(approvals, (each) => {
        if (each.rootID !== undefined) return Effect.succeed(true)
        const given = each.host === undefined ? guess(each) : Effect.succeed(each.host)
        return Effect.map(given, (host) => host !== undefined && isOn(own, machineOf(host)))
      })
    })
  }
})

/** What decides it. */
export type Holding = Effect.Effect.Success<typeof makeHolding>
