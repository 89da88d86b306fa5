/** Moves a tree to this host, whose directory is on a host that is gone: into a workspace with its last step that was kept. */
import { Journal } from "@skein/core/Journal"
import { Leases } from "@skein/core/Leases"
import { Owner } from "@skein/core/Owner"
import { SessionStorage } from "@skein/core/SessionStorage"
import type { StorageError } from "@skein/core/StorageError"
import { type FetchedStep, WorkspaceRefused, Workspaces } from "@skein/core/Workspaces"
import type { Entry } from "@skein/core/Write"
import { Ids, type SessionID } from "@skein/domain/Id"
import type { InboxRow } from "@skein/domain/InboxRow"
import type { ToolPart } from "@skein/domain/Part"
import type { SessionInfo } from "@skein/domain/SessionInfo"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { Place, Places } from "./places.ts"

/** How many calls are named. */
const mostNamed = 20

/** How many events are read at a time. */
const page = 500

const titleOf = ({ state, tool }: ToolPart): string => {
  const title = state.status === "completed" || state.status === "running" ? state.title : undefined
  return `${tool}${title === undefined || title === "" ? "" : `: ${title.slice(0, 200)}`} (${
    state.status === "completed" ? "completed" : state.status === "error" ? "ended with an error" : "under way"
  })`
}

/**
 * The calls that were under way or ended after a step, and may have changed files: what they changed may not be in its files.
 * Undefined if the log no longer reaches back to the step.
 */
const sinceStep = Effect.fnUntraced(function*(rootID: SessionID, seq: number) {
  const storage = yield* SessionStorage
  const calls = new Map<string, ToolPart>()
  const { first } = yield* storage.eventRange(rootID)
  if (first > seq + 1) return undefined
  for (let after = seq;;) {
    const events = yield* storage.events({ rootID, after, types: ["message.part.updated"], limit: page })
    for (const { event } of events) {
      if (event.type !== "message.part.updated") continue
      const { part } = event.properties
      if (part.type === "tool" && part.intent !== undefined && part.intent.effect !== "safe") calls.set(part.id, part)
    }
    const last = events.at(-1)
    if (last === undefined || events.length < page) return [...calls.values()].map(titleOf)
    after = last.seq
  }
})

/** What agents read. */
const movedText = (
  before: { readonly host: string | undefined; readonly directory: string },
  { directory, omits }: FetchedStep,
  lost: ReadonlyArray<string> | undefined
): string => {
  const step = lost === undefined
    ? "Some of the latest changes may be missing: Skein cannot tell how recent its files are."
    : lost.length === 0
    ? "Its files are those of the last step: no call that may have changed files has ended since."
    : `Changes of these calls may be missing, because they were not kept in time:\n${
      lost.slice(0, mostNamed).map((call) => `- ${call}`).join("\n")
    }${lost.length > mostNamed ? `\n- and ${lost.length - mostNamed} more` : ""}`
  return [
    `The host ${
      before.host ?? "of this session"
    } is gone, and this session now works on another one. Its directory was ${before.directory}. It is now ${directory}: use only paths there.`,
    step,
    ...omits.map((omitted) => `${omitted}.`),
    "Commands and servers that were running are gone. Look at the files before you go on."
  ].join("\n")
}

const stays = (message: string) => new WorkspaceRefused({ reason: "failed", message })

/** Those of a tree that work, and have to know that their files are elsewhere. */
const atWork = ({ parentID, turn }: SessionInfo): boolean =>
  parentID === undefined || (turn !== undefined && turn.ended === undefined)

/** The sessions of a tree, the root first. Refuses one whose files are not all in its repository. */
const sessionsOf = (rootID: SessionID) =>
  Effect.gen(function*() {
    const storage = yield* SessionStorage
    const { rows, unreadable } = yield* storage.sessions({ rootID })
    const root = rows.find(({ id }) => id === rootID)
    if (root?.workspace === undefined) return yield* stays("its steps are not kept for other hosts")
    if (unreadable.length > 0) return yield* stays("a session of it cannot be read")
    const elsewhere = rows.find(({ directory, worktree }) => worktree !== undefined || directory !== root.directory)
    if (elsewhere !== undefined) return yield* stays(`its session ${elsewhere.id} works in ${elsewhere.directory}`)
    return { root, workspace: root.workspace, rows }
  })

/** Stores where the tree is now, in one commit, together with what its agents will read. The tree is held. */
const store = Effect.fnUntraced(function*(
  { root, rows, workspace }: Effect.Effect.Success<ReturnType<typeof sessionsOf>>,
  fetched: FetchedStep,
  lost: ReadonlyArray<string> | undefined
) {
  const journal = yield* Journal
  const leases = yield* Leases
  const ids = yield* Ids
  const now = yield* Clock.currentTimeMillis
  const { failure: _, ...kept } = workspace
  const { host: from, machine: _machine, ...rest } = root
  const text = movedText({ host: from, directory: root.directory }, fetched, lost)
  const note = ({ id }: SessionInfo): InboxRow => ({
    id: ids.unsafeMake("msg", now),
    sessionID: id,
    kind: "note",
    parts: [{ type: "text", text, synthetic: true }],
    time: { created: now }
  })
  const entries = rows.map((info): Entry => ({
    _tag: "Session",
    info: info.id !== root.id ? { ...info, directory: fetched.directory } : {
      ...rest,
      ...leases.machine,
      directory: fetched.directory,
      workspace: {
        ...kept,
        from: { ...(from === undefined ? {} : { host: from }), directory: root.directory, at: now }
      }
    }
  }))
  const lease = { rootID: root.id, owner: (yield* Owner).id, epoch: leases.epoch(root.id) }
  yield* journal.commit([
    // Sessions that are not in memory have no fence of their own.
    { _tag: "Fence", lease },
    ...entries,
    ...rows.filter(atWork).map((info): Entry => ({ _tag: "Inbox", row: note(info) }))
  ])
})

/** Makes what moves trees. */
export const makeMoves = Effect.gen(function*() {
  const storage = yield* SessionStorage
  const leases = yield* Leases
  const workspaces = yield* Workspaces
  const context = yield* Effect.context<Ids | Journal | Leases | Owner | SessionStorage>()

  /** Removes a workspace, unless the tree may have moved into it after all: a commit may be stored that seems to have failed. */
  const discardUnused = (rootID: SessionID, fetched: FetchedStep) =>
    Effect.matchEffect(storage.session(rootID), {
      onFailure: () => Effect.logWarning(`The workspace ${fetched.top} may not be in use`),
      onSuccess: (found) =>
        Option.exists(found, ({ directory }) => directory === fetched.directory)
          ? Effect.void
          : workspaces.discard(fetched)
    })

  /** Moves it, once its files are here. */
  const settle = (rootID: SessionID, before: SessionInfo, fetched: FetchedStep) =>
    leases.hold(
      rootID,
      Effect.gen(function*() {
        const tree = yield* sessionsOf(rootID)
        if (
          tree.root.host !== before.host || tree.root.machine !== before.machine ||
          tree.root.directory !== before.directory
        ) {
          return yield* new WorkspaceRefused({ reason: "superseded", message: "another server has moved it" })
        }
        const claimed = workspaces.claim(rootID, tree.workspace, fetched, leases.epoch(rootID))
        yield* Effect.catchIf(claimed, ({ reason }) =>
          reason !== "superseded", ({ message }) =>
          Effect.logWarning(`The steps of ${rootID} will not be kept from here`, message))
        const lost = yield* sinceStep(rootID, fetched.seq)
        // What was read of it before is out of date: the next one who uses it reads it again. Only now: a tree that another
        // request has moved here is at work.
        yield* Effect.ensuring(store(tree, fetched, lost), leases.leave(rootID))
      })
    )

  /**
   * Moves a tree in which nobody works. Fails if it stays where it is: the message completes "it does not move, because".
   */
  return (rootID: SessionID): Effect.Effect<void, WorkspaceRefused | StorageError> =>
    Effect.gen(function*() {
      const { root, workspace } = yield* sessionsOf(rootID)
      const fetched = yield* workspaces.fetch(rootID, workspace)
      yield* Effect.onError(settle(rootID, root, fetched), () => discardUnused(rootID, fetched))
      yield* Effect.logInfo(
        `${rootID} has moved from ${root.directory} on the host ${root.host ?? "?"} to ${fetched.directory} here`
      )
    }).pipe(Effect.provide(context))
})

/** What moves trees. */
type Moves = Effect.Effect.Success<typeof makeMoves>

/** How often to look whether the host is back before its tree is moved, and how long to wait in between. */
const looks = 10
const pause = "500 millis"

const isAway = (place: Place): boolean => place._tag === "Away" && place.isKept === true

/**
 * Makes it; it says whether the tree can be taken up here now. The host gets some seconds to come back: it may only restart,
 * and has all files.
 */
export const makeBring = (
  places: Pick<Places, "of">,
  moves: Moves,
  /** Notes where a tree was: its last server is forgotten with the move. */
  noted: (rootID: SessionID) => Effect.Effect<void>
): (rootID: SessionID) => Effect.Effect<boolean, StorageError> => {
  /** Why each tree did not move when it was last tried. */
  const told = new Map<SessionID, string>()

  const explain = (rootID: SessionID, { message, reason }: WorkspaceRefused) =>
    Effect.suspend(() => {
      if (reason === "off" || reason === "superseded") return Effect.logDebug(`${rootID} does not move here`, message)
      if (told.get(rootID) === message) return Effect.void
      told.set(rootID, message)
      return Effect.logWarning(`${rootID} does not move here`, message)
    })

  const move = (rootID: SessionID): Effect.Effect<boolean, StorageError> =>
    Effect.zipRight(noted(rootID), moves(rootID)).pipe(
      Effect.map(() => {
        told.delete(rootID)
        return true
      }),
      Effect.catchTag("WorkspaceRefused", (error) =>
        Effect.zipRight(
          explain(rootID, error),
          // Another request may have brought it here meanwhile.
          Effect.map(places.of(rootID), ({ _tag }) => _tag === "Here")
        ))
    )

  const wait = (rootID: SessionID, left: number): Effect.Effect<boolean, StorageError> =>
    Effect.flatMap(places.of(rootID), (place) => {
      if (!isAway(place)) return Effect.succeed(place._tag === "Here")
      return left > 0 ? Effect.zipRight(Effect.sleep(pause), wait(rootID, left - 1)) : move(rootID)
    })

  return (rootID) => wait(rootID, looks)
}

/** What brings trees. */
export type Bring = ReturnType<typeof makeBring>
