/** Finds out which process holds the tree of a session, and says it. */
import { holderOf, Owner } from "@skein/core/Owner"
import { isOver, SessionStorage } from "@skein/core/SessionStorage"
import type { SessionInfo } from "@skein/domain/SessionInfo"
import type { Holder, ShownSession } from "@skein/domain/TreeSnapshot"
import { escapeLine } from "@skein/tui/Escape"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"

/** Whether a server has sent it. It then says itself who holds the tree. */
const isShown = (session: SessionInfo): session is ShownSession => "status" in session

/** The holder; undefined if nobody works in the tree. */
export const findHolder = Effect.fnUntraced(function*(session: SessionInfo) {
  if (isShown(session)) return session.holder
  const storage = yield* SessionStorage
  const owner = yield* Owner
  const lease = Option.getOrUndefined(yield* storage.lease(session.rootID))
  if (lease?.owner === undefined || isOver(lease) || (yield* owner.isGone(lease.owner))) return undefined
  return holderOf(lease.owner)
})

/** The holder as a person reads it. */
export const holderText = ({ host, pid, url }: Holder): string => {
  const process = [
    ...(pid === undefined ? [] : [`process ${pid}`]),
    ...(host === undefined ? [] : [`on the host ${host}`])
  ].join(" ")
  if (url === undefined) return escapeLine(process === "" ? "another process" : process)
  return escapeLine(process === "" ? url : `${url} (${process})`)
}
