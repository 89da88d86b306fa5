/** Finds out what sessions do, and at which server of a cluster. */
import { SessionStorage } from "@skein/core/SessionStorage"
import type { SessionID } from "@skein/domain/Id"
import { isAtRest, type SessionInfo } from "@skein/domain/SessionInfo"
import type { Holder, ListedSession } from "@skein/domain/TreeSnapshot"
import * as Effect from "effect/Effect"
import { findHolder } from "./holder.ts"

/** What a root session does. */
export interface Where {
  readonly status: string
  /** Who holds its tree; undefined if nobody does. */
  readonly holder: Holder | undefined
}

/** Whether a server has sent it, with its status. */
const isListed = (session: SessionInfo): session is ListedSession => "status" in session

/** What a server says. What works is with the one that was asked, unless that names another one. */
const saidOf = ({ status }: ListedSession, asked: string | undefined): Where => {
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
  const { rows } = yield* Effect.flatMap(SessionStorage, (storage) => storage.runs({ unsettled: true }))
  const withRuns = new Set(rows.map(({ rootID }) => rootID))
  return yield* Effect.forEach(roots, (root) => {
    if (isListed(root)) return Effect.succeed(saidOf(root, asked))
    const isOpen = withRuns.has(root.id) || (root.turn !== undefined && root.turn.ended === undefined)
    const status = left.has(root.id) ? "interrupted" : isOpen ? "busy" : "idle"
    return Effect.map(findHolder(root), (holder): Where => ({ status, holder }))
  })
})

/** Whether any of them is at a server that others reach. */
export const isAtServer = (all: ReadonlyArray<Where>): boolean => all.some(({ holder }) => holder?.url !== undefined)
