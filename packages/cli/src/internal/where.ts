/** Finds out what trees do, which process holds them, and which were left by a process that has ended. Resumes none. */
import { holderOf, machineOfOwner, Owner } from "@skein/core/Owner"
import { isOver, SessionStorage } from "@skein/core/SessionStorage"
import { isOn } from "@skein/core/Whereabouts"
import type { SessionID } from "@skein/domain/Id"
import { isAtRest, type SessionInfo } from "@skein/domain/SessionInfo"
import type { Holder, ShownSession } from "@skein/domain/TreeSnapshot"
import { escapeLine } from "@skein/tui/Escape"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"

/** Whether a server has sent it. It then says itself who holds the tree. */
const isShown = (session: SessionInfo): session is ShownSession => "status" in session

/** The process that holds a tree; undefined if none does, or if it has ended. */
const ownerOf = Effect.fnUntraced(function*(rootID: SessionID) {
  const storage = yield* SessionStorage
  const { isGone } = yield* Owner
  const lease = Option.getOrUndefined(yield* storage.lease(rootID))
  return lease?.owner === undefined || isOver(lease) || (yield* isGone(lease.owner)) ? undefined : lease.owner
})

/** The holder; undefined if nobody works in the tree. */
export const findHolder = (session: SessionInfo) =>
  isShown(session)
    ? Effect.succeed(session.holder)
    : Effect.map(ownerOf(session.rootID), (owner) => owner === undefined ? undefined : holderOf(owner))

/** The holder as a person reads it. */
export const holderText = ({ host, pid, url }: Holder): string => {
  const process = [
    ...(pid === undefined ? [] : [`process ${pid}`]),
    ...(host === undefined ? [] : [`on the host ${host}`])
  ].join(" ")
  if (url === undefined) return escapeLine(process === "" ? "another process" : process)
  return escapeLine(process === "" ? url : `${url} (${process})`)
}

/** How to resume such a tree. */
export const howToResume = (rootID: SessionID): string => `skein sessions resume ${rootID}`

/** Whether no process works on a tree any longer. */
export const isLeft = (rootID: SessionID) => Effect.map(ownerOf(rootID), (owner) => owner === undefined)

/** What happened to the process that worked on such a tree. One that is suspended may still continue. */
export const howLeft = Effect.fnUntraced(function*(rootID: SessionID) {
  const storage = yield* SessionStorage
  const { isGone } = yield* Owner
  const owner = Option.getOrUndefined(yield* storage.lease(rootID))?.owner
  return owner === undefined || (yield* isGone(owner))
    ? "the process that worked on it has ended."
    : `it was held by ${holderText(holderOf(owner))}, which does not respond: it has ended, or is suspended.`
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

/** The roots of these sessions whose tree has an unfinished turn or task. */
const openRoots = Effect.fnUntraced(function*(infos: ReadonlyArray<SessionInfo>) {
  const storage = yield* SessionStorage
  const { rows } = yield* storage.runs({ unsettled: true })
  const withRuns = new Set(rows.map(({ rootID }) => rootID))
  const open = infos.filter(({ rootID, turn }) =>
    withRuns.has(rootID) || (turn !== undefined && turn.ended === undefined)
  )
  return new Set(open.map(({ rootID }) => rootID))
})

/** Those of them without a process. */
export const interrupted = (infos: ReadonlyArray<SessionInfo>) =>
  Effect.flatMap(openRoots(infos), (roots) => Effect.map(Effect.filter(roots, isLeft), (left) => new Set(left)))

/** What a root session does. */
interface Where {
  readonly status: string
  /** Who holds its tree; undefined if nobody does. */
  readonly holder: Holder | undefined
}

/** What a server says. What works is with the one that was asked, unless that names another one. */
const saidOf = ({ status }: ShownSession, asked: string | undefined): Where => {
  const url = status.type === "elsewhere" ? status.url : isAtRest(status) ? undefined : asked
  return { status: status.type, holder: url === undefined ? undefined : { url } }
}

/**
 * What these root sessions do. `left` are those whose process has ended during their work, and `asked` is the server that
 * was asked, if one was.
 */
export const whereOf = Effect.fnUntraced(function*(
  roots: ReadonlyArray<SessionInfo>,
  left: ReadonlySet<SessionID>,
  asked: string | undefined
) {
  const open = yield* openRoots(roots)
  return yield* Effect.forEach(roots, (root) => {
    if (isShown(root)) return Effect.succeed(saidOf(root, asked))
    const status = left.has(root.id) ? "interrupted" : open.has(root.id) ? "busy" : "idle"
    return Effect.map(findHolder(root), (holder): Where => ({ status, holder }))
  })
})

/** Whether any of them is at a server that others reach. */
export const isAtServer = (all: ReadonlyArray<Where>): boolean => all.some(({ holder }) => holder?.url !== undefined)
