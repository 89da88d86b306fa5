/** Refuses to make a tree work if its directory is on another machine. */
import type { SessionID } from "@skein/domain/Id"
import type { SessionInfo } from "@skein/domain/SessionInfo"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { needsNoDirectory } from "../../Anywhere.ts"
import { Leases } from "../../Leases.ts"
import { ProjectUnavailable } from "../../Projects.ts"
import { SessionStorage } from "../../SessionStorage.ts"
import { Whereabouts } from "../../Whereabouts.ts"
import type { Live } from "./Live.ts"
import type { ProjectsInUse } from "./makeProjectsInUse.ts"

/** Makes the checks: one before a tree is acquired, and one while it is held and its project is open. */
export const makePlacement = Effect.fnUntraced(function*(projects: ProjectsInUse) {
  const leases = yield* Leases
  const storage = yield* SessionStorage
  const whereabouts = yield* Whereabouts
  const refuse = (root: SessionInfo) =>
    Effect.flatMap(
      whereabouts.explain(root),
      (message) => new ProjectUnavailable({ directory: root.directory, host: root.host, message })
    )
  /** The epoch in which each root was found to be in the right place. It stays there until it is released. */
  const placed = new WeakMap<Live, number>()

  return {
    /** A tree whose directory is elsewhere is not even acquired. */
    before: (rootID: SessionID) =>
      Effect.gen(function*() {
        if (!whereabouts.isDecided() || leases.epoch(rootID) > 0) return
        const root = Option.getOrUndefined(yield* storage.session(rootID))
        if (root === undefined || root.anywhere === true || !(yield* whereabouts.isAway(root))) return
        return yield* refuse(root)
      }),
    /** It may have moved meanwhile, and one that goes anywhere needs the right config. */
    within: ({ root }: Live) =>
      Effect.gen(function*() {
        const { info } = root
        const epoch = leases.epoch(info.id)
        if (placed.get(root) === epoch) return
        const isThere = !(yield* whereabouts.isAway(info))
          || (info.anywhere === true && (yield* projects.use(info.id, needsNoDirectory(info.agent, info))))
        if (!isThere) return yield* refuse(info)
        placed.set(root, epoch)
      })
  }
})
