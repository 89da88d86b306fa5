/** What `skein sessions stop` does: stops a session with everything below it, wherever it works. */
import { Backend } from "@skein/backend/Backend"
import type { SessionID } from "@skein/domain/Id"
import { hasOpenTurn } from "@skein/domain/InboxRow"
import { isAtRest, type SessionInfo } from "@skein/domain/SessionInfo"
import type { TreeSnapshot } from "@skein/domain/TreeSnapshot"
import { escapeLine } from "@skein/tui/Escape"
import * as Effect from "effect/Effect"
import type { CommandError } from "../../CommandSpec.ts"
import { ExitCode } from "../../ExitCode.ts"
import { Stdio } from "../../Stdio.ts"
import type { AttachFlags } from "../attach/attach.ts"
import { withSession } from "../attach/database.ts"

/** What a stop found: work, what a process that is gone left of it, or neither. */
type Found = "running" | "interrupted" | "idle"

/** A session and everything below it. */
const partOf = ({ sessions }: TreeSnapshot, top: SessionID) => {
  const ids = new Set<string>([top])
  // Each session comes before those below it.
  for (const { id, parentID } of sessions) if (parentID !== undefined && ids.has(parentID)) ids.add(id)
  return sessions.filter(({ id }) => ids.has(id))
}

const foundIn = (tree: TreeSnapshot, top: SessionID): Found => {
  const sessions = partOf(tree, top)
  if (sessions.some(({ status }) => !isAtRest(status))) return "running"
  const ids = new Set(sessions.map(({ id }) => id))
  const hasRun = tree.tasks.some(({ state, taskID }) => state !== "settled" && ids.has(taskID))
  return hasRun || sessions.some(hasOpenTurn) ? "interrupted" : "idle"
}

const wordsFor = (found: Found, { id, title }: SessionInfo): string => {
  const named = `${id}  ${title}`
  switch (found) {
    case "running":
      return `Stopped, with everything below it: ${named}`
    case "interrupted":
      return `Nothing was running. What was left unfinished is stopped, and does not continue by itself: ${named}`
    case "idle":
      return `Nothing was running: ${named}`
  }
}

/** Stops one. */
export const stopSession = ({ flags, operands: [given = ""] }: {
  readonly flags: AttachFlags & { readonly format: "default" | "json" }
  readonly operands: ReadonlyArray<string>
}): Effect.Effect<number, CommandError, Stdio> =>
  withSession(flags, given, (session) =>
    Effect.gen(function*() {
      const stdio = yield* Stdio
      const { sessions, watch } = yield* Backend
      const { id } = session
      const tree = yield* watch.snapshot(id)
      const found = foundIn(tree, id)
      // Also if nothing was found: something may have begun meanwhile.
      yield* sessions.stop(id, "the user")
      stdio.out(
        flags.format === "json"
          ? `${JSON.stringify({ sessionID: id, found }, undefined, 2)}\n`
          : `${escapeLine(wordsFor(found, session))}\n`
      )
      return ExitCode.done
    }))
