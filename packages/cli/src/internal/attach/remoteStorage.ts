/** Reads the storage of a server, for commands that print what is stored. */
import { Backend } from "@skein/backend/Backend"
import type { BackendError } from "@skein/backend/BackendError"
import { allPages } from "@skein/backend/Sessions"
import { SessionStorage } from "@skein/core/SessionStorage"
import { StorageError } from "@skein/core/StorageError"
import type { RunFilter, SessionFilter } from "@skein/core/StorageFilter"
import type { MessageID } from "@skein/domain/Id"
import type { SessionInfo } from "@skein/domain/SessionInfo"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"

const failed = (operation: string) => ({ message }: Pick<BackendError, "message">) =>
  new StorageError({ operation, reason: "other", message })

/** What no command reads from a server in this way. */
const unsupported = (operation: string) =>
  Effect.fail(failed(operation)({ message: `This cannot be read through a server (${operation}).` }))

const rowsOf = <A>(rows: ReadonlyArray<A>) => ({ rows, unreadable: [] })

/** A server works on what it holds. */
const heldByServer = Option.some({ owner: "server", epoch: 0, until: 0, left: 1 })

const sessionsOf = ({ sessions, watch }: typeof Backend.Service, filter: SessionFilter) => {
  const { limit, parentID, projectID, rootID } = filter
  const found: Effect.Effect<ReadonlyArray<SessionInfo>, BackendError> = parentID !== undefined
    ? allPages((page) => sessions.children(parentID, page))
    : rootID !== undefined
    ? Effect.map(watch.snapshot(rootID), (tree) => tree.sessions)
    : allPages((page) => sessions.list({ ...page, ...(projectID === undefined ? {} : { projectID }) }), limit)
  return Effect.mapBoth(found, { onFailure: failed("sessions"), onSuccess: rowsOf })
}

const runsOf = (
  { tasks }: typeof Backend.Service,
  { newest, parentID, rootID, taskID, unsettled = false }: RunFilter
) => {
  const found = taskID !== undefined
    ? Effect.map(tasks.get(taskID), ({ runs }) => runs)
    : parentID !== undefined
    ? Effect.map(
      allPages((page) => tasks.list(parentID, page)),
      (runs) => runs.filter((run) => run.parentID === parentID)
    )
    : rootID !== undefined
    ? allPages((page) => tasks.list(rootID, page))
    : newest !== undefined
    ? Effect.map(allPages(tasks.newest, newest.limit), (runs) => runs.toReversed())
    : Effect.succeed([])
  return Effect.mapBoth(found, {
    onFailure: failed("runs"),
    onSuccess: (runs) => rowsOf(unsettled ? runs.filter(({ state }) => state !== "settled") : runs)
  })
}

/** The storage that commands read through a backend. */
export const layer: Layer.Layer<SessionStorage, never, Backend> = Layer.effect(
  SessionStorage,
  Effect.map(Backend, (backend) => {
    const { asks, sessions, tasks } = backend
    return {
      ids: (of, start, limit) => Effect.mapError(sessions.ids(of, start, limit), failed("ids")),
      session: (id) =>
        sessions.get(id).pipe(
          Effect.map(Option.some),
          Effect.catchTag("SessionNotFound", () => Effect.succeed(Option.none())),
          Effect.mapError(failed("session"))
        ),
      sessions: (filter) => sessionsOf(backend, filter),
      messages: () => unsupported("messages"),
      messagePage: (id, page) =>
        Effect.mapBoth(
          sessions.messages(
            id,
            "after" in page
              ? { limit: page.limit, ...(page.after === "" ? {} : { cursor: page.after }) }
              : { newest: page.limit, before: page.before }
          ),
          {
            onFailure: failed("messages"),
            onSuccess: ({ items, next }) => ({
              ...rowsOf(items),
              // Opaque, and good for nothing but the next page.
              ...(next === undefined ? {} : { next: next as MessageID })
            })
          }
        ),
      runs: (filter) => runsOf(backend, filter),
      run: (id) =>
        tasks.get(id).pipe(
          Effect.map(({ runs }) => Option.fromNullable(runs.find((run) => run.id === id))),
          Effect.catchIf(({ reason }) => reason === "not_found", () => Effect.succeed(Option.none())),
          Effect.mapError(failed("run"))
        ),
      control: () => unsupported("control"),
      waiting: () => unsupported("waiting"),
      approvals: (projectID, of) =>
        Effect.mapBoth(allPages((page) => asks.approvals(projectID, of, page)), {
          onFailure: failed("approvals"),
          onSuccess: (found) =>
            found.map(({ host, rootID, ...approval }) => ({
              ...approval,
              ...(rootID === undefined ? {} : { rootID }),
              ...(host === undefined ? {} : { host })
            }))
        }),
      lease: () => Effect.succeed(heldByServer),
      leases: () => unsupported("leases"),
      inbox: () => Effect.succeed(rowsOf([])),
      commit: () => unsupported("commit"),
      events: () => unsupported("events"),
      eventRange: () => unsupported("eventRange"),
      receipt: () => unsupported("receipt"),
      unfinished: Effect.succeed([]),
      prune: () => unsupported("prune"),
      todos: () => unsupported("todos")
    }
  })
)
