/** Decides whether the files of a session are on this machine, so that names of files can be looked up here. */
import { Backend } from "@skein/backend/Backend"
import { isOn, type Machine } from "@skein/core/Whereabouts"
import type { SessionInfo } from "@skein/domain/SessionInfo"
import * as NodeOwner from "@skein/tools/NodeOwner"
import * as Effect from "effect/Effect"
import { existsSync } from "node:fs"

/** Whether a directory is on this machine. If nobody knows its machine, one that is here counts. */
export const isOnMachine = (directory: string, machine: Machine | undefined): boolean =>
  machine === undefined ? existsSync(directory) : isOn(NodeOwner.machine(), machine)

/** Whether the files of a session are; without a session, whether those of a new one in the directory will be. */
export const seesFiles = Effect.fnUntraced(function*(session: SessionInfo | undefined, directory: string) {
  const { machine, sessions, where } = yield* Backend
  if (where._tag === "Local") return true
  const root = session === undefined || session.id === session.rootID ? session : yield* sessions.get(session.rootID)
  const there = root ?? (yield* machine)
  return isOnMachine(directory, there?.host === undefined ? undefined : { host: there.host, machine: there.machine })
})
