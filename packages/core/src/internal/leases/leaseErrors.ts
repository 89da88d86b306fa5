/** Why a tree cannot be acquired, or has to be left. */
import type { SessionID } from "@skein/domain/Id"
import { addressOf } from "../../Owner.ts"
import { StorageError } from "../../StorageError.ts"

/**
 * From here on a process whose commits do not end renews no leases (ms): others take its trees up. Commits end, or fail,
 * within 30 seconds, also if the database is restarted.
 */
export const longestStall = 35_000

/** Another process holds the tree; `owner` names it, with its address if it is a server. */
export const heldElsewhere = (rootID: SessionID, owner: string | undefined) => {
  const url = owner === undefined ? undefined : addressOf(owner)
  const message = url === undefined
    ? `Another process works in the session ${rootID}. Wait for it, stop it there, or continue with a copy: skein run --fork -s ${rootID}.`
    : `The server at ${url} works in the session ${rootID}. Work through it: skein run --attach=${url} -s ${rootID}, with its token in SKEIN_TOKEN. Or continue with a copy: skein run --fork -s ${rootID}.`
  return new StorageError({ operation: "hold", reason: "held", message })
}

/** Commits hang, and will not even fail. */
export const stalled = () =>
  new StorageError({
    operation: "commit",
    reason: "busy",
    message: `Nothing could be stored for ${
      longestStall / 1_000
    } seconds. Check that the database is running, then try again.`
  })
