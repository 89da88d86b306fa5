/** Turns an archive into the writes that import it. */
import type { Archive } from "@skein/domain/Archive"
import type { MessageID } from "@skein/domain/Id"
import type { InboxRow } from "@skein/domain/InboxRow"
import { mayEdit } from "@skein/domain/Mode"
import type { Outcome, TaskRun } from "@skein/domain/Outcome"
import type { SessionInfo } from "@skein/domain/SessionInfo"
import { none } from "@skein/domain/Usage"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { ArchiveInvalid } from "../../ArchiveError.ts"
import type { Entry } from "../../JournalEntry.ts"
import { SessionStorage } from "../../SessionStorage.ts"
import { type Names, renameMessages, renameRow, renameRun, renameSession } from "./renamed.ts"

const exists = (id: string) =>
  new ArchiveInvalid({
    reason: "exists",
    message: `${id} of the archive is stored here already. Nothing was stored. `
      + "`--as-copy` takes the tree in under new ids; or delete the session that is here first."
  })

/** Fails if a session or a run of the archive is stored already, because it would be overwritten. */
export const refuseKnown = Effect.fnUntraced(function*({ runs, sessions }: Archive) {
  const storage = yield* SessionStorage
  for (const { info: { id } } of sessions) {
    if (Option.isSome(yield* storage.session(id))) return yield* exists(id)
  }
  for (const { id } of runs) {
    if (Option.isSome(yield* storage.run(id))) return yield* exists(id)
  }
})

/**
 * What waits in an archive waits here for the next prompt: an import must not prompt a model. A notification loses a run
 * whose task is gone, so that it does not block other rows.
 */
const asNote = ({ runID, ...row }: InboxRow, runs: ReadonlySet<string>): InboxRow => ({
  ...row,
  kind: "note",
  ...(runID === undefined || !runs.has(runID) ? {} : { runID })
})

/** A run that was in progress in the archive does not continue here: nobody knows its outcome. */
const ended = (run: TaskRun): TaskRun => {
  if (run.state === "settled") return run
  const { id: runID, taskID, time } = run
  const outcome: Outcome = { status: "lost", taskID, runID, text: "", usage: none, durationMs: 0 }
  return { ...run, state: "settled", outcome, time: { ...time, settled: time.started ?? time.created } }
}

/**
 * Drops a mode that asks less than the usual one: the author of an archive must not decide that here. Drops the host too: the
 * directory is now one of this machine, and its files are sent nowhere. Drops worktrees: only those count that Skein has made
 * here.
 */
const cautious = (given: SessionInfo): SessionInfo => {
  const { anywhere: __, host: _, machine: ____, mode, workspace: ___, worktree: _____, ...info } = given
  return mode === undefined || mayEdit(mode) ? info : { ...info, mode }
}

/**
 * The writes, and the sessions as they will be, the root first. `inboxID` gives inbox rows their ids. All sessions work in
 * `place`: the author of an archive must not put one of them into another directory or project.
 */
export const writesOf = (
  archive: Archive,
  names: Names,
  inboxID: (id: MessageID) => MessageID,
  place: Pick<SessionInfo, "directory" | "projectID">
): { readonly sessions: readonly [SessionInfo, ...Array<SessionInfo>]; readonly writes: ReadonlyArray<Entry> } => {
  const [root] = archive.sessions
  const runs = new Set<string>(archive.runs.map(({ id }) => id))
  const writes: Array<Entry> = []
  // Runs are sorted by id, so inboxes must look up the ids in the same order.
  const known = new Map<string, string>()
  for (const { info: { id } } of archive.sessions) known.set(id, names.session(id))
  for (const { id } of archive.runs) known.set(id, names.run(id))
  const within: Names = { ...names, metadata: (text) => known.get(text) ?? text }
  const put = ({ inbox, info, messages, todos }: Archive["sessions"][number]): SessionInfo => {
    // Map the ids of messages before the summary looks one up, so that they ascend.
    const said = renameMessages(within, messages)
    const named = renameSession(names, { ...cautious(info), ...place })
    writes.push({ _tag: "Session", info: named, isNew: true })
    for (const { info: message, parts } of said) {
      writes.push({ _tag: "Message", info: message })
      for (const part of parts) writes.push({ _tag: "Part", part })
    }
    for (const row of inbox) {
      // Storage finds such rows by their id alone: an invented id must not hit a row of another session.
      writes.push({ _tag: "Inbox", row: renameRow({ ...names, message: inboxID }, asNote(row, runs)) })
    }
    if (todos.length > 0) writes.push({ _tag: "Todos", sessionID: named.id, todos })
    return named
  }
  const [, ...below] = archive.sessions
  const sessions = [put(root), ...below.map(put)] as const
  for (const run of archive.runs) writes.push({ _tag: "Run", run: renameRun(names, ended(run)) })
  return { sessions, writes }
}
