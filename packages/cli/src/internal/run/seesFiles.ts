/** Decides whether the files of a session are on this machine, so that names of files can be looked up here. */
import { Backend } from "@skein/backend/Backend"
import { isOn } from "@skein/core/Machine"
import type { SessionInfo } from "@skein/domain/SessionInfo"
import * as NodeOwner from "@skein/tools/NodeOwner"
import * as Effect from "effect/Effect"

/** Whether they are; without a session, whether those of a new one will be. */
export const seesFiles = Effect.fnUntraced(function*(session: SessionInfo | undefined) {
  const { machine, sessions, where } = yield* Backend
  if (where._tag === "Local") return true
  const root = session === undefined || session.id === session.rootID ? session : yield* sessions.get(session.rootID)
  const there = root ?? (yield* machine)
  return there?.host === undefined || isOn(NodeOwner.machine(), { host: there.host, machine: there.machine })
})
