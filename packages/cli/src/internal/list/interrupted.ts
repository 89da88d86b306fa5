/** Finds the trees whose process ended during their work, without resuming them. */
import { machineOfOwner, Owner } from "@skein/core/Owner"
import { isOver, SessionStorage } from "@skein/core/SessionStorage"
import { isOn } from "@skein/core/Whereabouts"
import type { SessionID } from "@skein/domain/Id"
import type { SessionInfo } from "@skein/domain/SessionInfo"
import { escapeLine } from "@skein/tui/Escape"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"

/** How to resume such a tree. */
export const howToResume = (rootID: SessionID): string => `skein sessions resume ${rootID}`

/** Whether no process works on a tree any longer. */
export const isLeft = Effect.fnUntraced(function*(rootID: SessionID) {
  const storage = yield* SessionStorage
  const owner = yield* Owner
  const lease = Option.getOrUndefined(yield* storage.lease(rootID))
  if (lease?.owner === undefined || isOver(lease)) return true
  return yield* owner.isGone(lease.owner)
})

/** The host for which such a tree waits, because its directory is there; undefined if that is this one, or not known. */
export const awaitedHost = Effect.fnUntraced(function*(rootID: SessionID) {
  const storage = yield* SessionStorage
  const owner = yield* Owner
  const { anywhere, host, machine } = Option.getOrUndefined(yield* storage.session(rootID)) ?? {}
  const isNear = host === undefined || isOn(machineOfOwner(owner.id), { host, machine })
  return isNear || anywhere === true ? undefined : host
})

/** How to continue such a tree, and where. */
export const continueText = (rootID: SessionID, host: string | undefined): string =>
  host === undefined
    ? `Continue with: ${howToResume(rootID)}`
    : `It waits for the host ${escapeLine(host)}, which has its directory. Continue there with: ${howToResume(rootID)}`

/** The roots of these sessions whose tree has an unfinished turn or task without a process. */
export const interrupted = Effect.fnUntraced(function*(infos: ReadonlyArray<SessionInfo>) {
  const storage = yield* SessionStorage
  const { rows } = yield* storage.runs({ unsettled: true })
  const withRuns = new Set(rows.map(({ rootID }) => rootID))
  const open = infos.filter(({ rootID, turn }) =>
    withRuns.has(rootID) || (turn !== undefined && turn.ended === undefined)
  )
  const roots = [...new Set(open.map(({ rootID }) => rootID))]
  return new Set(yield* Effect.filter(roots, isLeft))
})
