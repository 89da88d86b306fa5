/** Computes what a session and everything below it have used. */
import { findSession } from "@skein/core/SessionLookup"
import { SessionStorage } from "@skein/core/SessionStorage"
import type { SessionInfo } from "@skein/domain/SessionInfo"
import { add, none, type Usage } from "@skein/domain/Usage"
import { groupBy } from "effect/Array"
import * as Effect from "effect/Effect"
import { asProblem } from "./toProblem.ts"

/** A session and those below it. */
const subtreeOf = (top: SessionInfo, sessions: ReadonlyArray<SessionInfo>): ReadonlyArray<SessionInfo> => {
  const known = new Set([top.id])
  return sessions.toSorted((a, b) => a.depth - b.depth).filter(({ id, parentID }) => {
    if (parentID !== undefined && known.has(parentID)) known.add(id)
    return known.has(id)
  })
}

const tokensOf = ({ tokens: { input, output } }: Usage): number => input + output

/** What a session and everything below it have used, in total and by agent. */
export const costOf = Effect.fnUntraced(function*(id: string) {
  const storage = yield* SessionStorage
  const info = yield* asProblem(findSession(id))
  const { rows } = yield* asProblem(storage.sessions({ rootID: info.rootID }))
  const agents = Object.entries(groupBy(subtreeOf(info, rows), ({ agent }) => agent)).map(([agent, sessions]) => ({
    agent,
    sessions: sessions.length,
    usage: sessions.reduce((sum, { usage }) => add(sum, usage.own), none)
  }))
  return {
    ...info.usage,
    ...(info.budget === undefined ? {} : { budget: info.budget }),
    agents: agents.toSorted((a, b) => tokensOf(b.usage) - tokensOf(a.usage))
  }
})
