/**
 * Decides which process carries out what a person asks for: the one that holds the tree. Others leave it a request in the
 * database, which it reads within a second, and answers there.
 */
import type { ControlAnswer, ControlRequest, ControlRow } from "@skein/domain/Control"
import { type ControlID, Ids, type SessionID } from "@skein/domain/Id"
import type { SessionInfo } from "@skein/domain/SessionInfo"
import type { PendingAsk } from "@skein/domain/TreeSnapshot"
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { AgentNotFound } from "./Agent.ts"
import { PermissionNotFound, QuestionNotFound } from "./Answerer.ts"
import { openAsks } from "./internal/permission/askedBefore.ts"
import { ModeRefused } from "./Isolation.ts"
import { isOver } from "./Lease.ts"
import { Leases } from "./Leases.ts"
import { elapsed } from "./MonotonicClock.ts"
import { holderOf } from "./Owner.ts"
import { ProjectUnavailable } from "./Projects.ts"
import { SessionStorage } from "./SessionStorage.ts"
import { StorageError } from "./StorageError.ts"
import { TaskRefused } from "./TaskRequest.ts"
import { SessionNotFound } from "./Turn.ts"

/** How often to look for an answer (ms). */
const pace = 100

/** How long a live holder may take (ms): a task has half a minute to conclude. */
const patience = 60_000

type Place = Pick<SessionInfo, "id" | "rootID">

/** The errors with which a holder refuses requests. */
export const refusals = {
  stop: Schema.Union(SessionNotFound, StorageError),
  mode: Schema.Union(AgentNotFound, ModeRefused, ProjectUnavailable, SessionNotFound, StorageError),
  task: Schema.Union(TaskRefused, StorageError),
  question: Schema.Union(PermissionNotFound, QuestionNotFound, StorageError)
}

/** Stores the error of a request, or a defect, with the answer. */
export const refusalOf = (error: unknown): Extract<ControlAnswer, { readonly ok: false }> => ({
  ok: false,
  error: Option.getOrElse(
    Schema.encodeUnknownOption(Schema.Union(...Object.values(refusals)))(error),
    () => ({ _tag: "Defect", message: String(error) })
  )
})

/** Reads the result of a request from its answer, or fails as the holder did. */
const resultOf = <E, I>(
  answer: ControlAnswer,
  refused: Schema.Schema<E, I>
): Effect.Effect<unknown, E | StorageError> =>
  answer.ok ? Effect.succeed(answer.value) : Effect.flatMap(
    Effect.mapError(
      Schema.decodeUnknown(refused)(answer.error),
      () => new StorageError({ operation: "control", reason: "other", message: answer.error.message })
    ),
    Effect.fail
  )

/** Leaves a request to the holder of a session's tree, present or next. */
export const leaveRequest = Effect.fnUntraced(function*({ id, rootID }: Place, request: ControlRequest) {
  const ids = yield* Ids
  const created = yield* Clock.currentTimeMillis
  const row: ControlRow = { id: ids.unsafeMake("ctl", created), sessionID: id, rootID, request, time: { created } }
  yield* (yield* SessionStorage).commit([{ _tag: "Control", row }])
  return row
})

/** Whether a process holds a tree, as its lease says: that of one that ended ends a few seconds later. */
export const isHeld = (rootID: SessionID) =>
  Effect.flatMap(
    SessionStorage,
    (storage) =>
      Effect.map(storage.lease(rootID), Option.exists((lease) => lease.owner !== undefined && !isOver(lease)))
  )

const silent = ({ id }: Place) =>
  new StorageError({
    operation: "control",
    reason: "held",
    message: `The process that works in ${id} has not answered for ${
      patience / 1_000
    } seconds. It reads the request once it can. See \`skein sessions\`.`
  })

/** The key of the receipt that is stored with the message that a request asks for. */
export const receiptOf = (id: ControlID): string => `control ${id}`

/** The answer of a holder that delivered a message, and ended before it could say so. */
const deliveredAs = (id: ControlID): Effect.Effect<ControlAnswer | undefined, StorageError, SessionStorage> =>
  Effect.flatMap(
    SessionStorage,
    (storage) =>
      Effect.map(
        storage.receipt(receiptOf(id)),
        (receipt) => Option.isSome(receipt) ? { ok: true, value: "steered" } : undefined
      )
  )

/**
 * Asks the process that holds a tree, and waits for its answer. Undefined if no process holds it, or if the holder ended before
 * it answered. Fails as the holder did. If you stop waiting, the request is withdrawn.
 */
export const askHolder = Effect.fn("Control.ask")(function*<E, I>(
  place: Place,
  request: ControlRequest,
  refused: Schema.Schema<E, I>
) {
  if (!(yield* isHeld(place.rootID))) return undefined
  const storage = yield* SessionStorage
  const clock = yield* Effect.clock
  const until = elapsed(clock) + patience
  const { id } = yield* leaveRequest(place, request)
  const withdraw = storage.commit([{ _tag: "RemoveControl", id }])
  const answered: Effect.Effect<ControlAnswer | undefined, StorageError, SessionStorage> = Effect.gen(function*() {
    const found = Option.getOrUndefined(yield* storage.control(id))
    if (found === undefined || found.answer !== undefined) return found?.answer
    if (!(yield* isHeld(place.rootID))) return yield* deliveredAs(id)
    if (elapsed(clock) > until) return yield* silent(place)
    yield* Effect.sleep(pace)
    return yield* answered
  })
  const answer = yield* Effect.onExit(
    answered,
    (exit) => Exit.isFailure(exit) && !Cause.isInterrupted(exit.cause) ? Effect.void : Effect.ignoreLogged(withdraw)
  )
  return answer === undefined ? undefined : { value: yield* resultOf(answer, refused) }
})

/** Does something here, or where another process holds the session's tree: `read` makes the result from its answer. */
export const byHolder = <A, E, R, E2, I>(
  id: SessionID,
  request: ControlRequest,
  own: Effect.Effect<A, E, R>,
  refused: Schema.Schema<E2, I>,
  read: (value: unknown) => A
): Effect.Effect<A, E | E2 | StorageError, R | Ids | Leases | SessionStorage> =>
  Effect.gen(function*() {
    const leases = yield* Leases
    const info = Option.getOrUndefined(yield* (yield* SessionStorage).session(id))
    if (info === undefined || (yield* leases.other(info.rootID)) === undefined) return yield* own
    const answer = yield* askHolder(info, request, refused)
    return answer === undefined ? yield* own : read(answer.value)
  })

/** An answer to a question to a person. */
type Answering = Extract<ControlRequest, { readonly id: string }>

/** Whether the turn that asks is open. What asks without a call ends with its process. */
const isWaiting = ({ ask, at }: { readonly ask: PendingAsk; readonly at: number }) =>
  ask.type === "permission" && ask.partID === undefined
    ? isHeld(ask.rootID)
    : Effect.map(
      Effect.flatMap(SessionStorage, (storage) => storage.session(ask.sessionID)),
      Option.exists(({ turn }) => turn !== undefined && turn.ended === undefined && turn.began <= at)
    )

/** The questions of a tree that its log has without an answer, and whose calls are still to be made. */
export const unanswered = (rootID: SessionID) =>
  Effect.map(
    Effect.flatMap(openAsks(rootID), Effect.filter(isWaiting)),
    (asks) => asks.map(({ ask }) => ask)
  )

/**
 * The stored questions of the trees, or of a tree, that this process does not hold, with the process that asks. One whose process
 * has ended waits until its tree is resumed.
 */
export const asksElsewhere = Effect.fnUntraced(function*(rootID?: SessionID) {
  const storage = yield* SessionStorage
  const leases = yield* Leases
  const found: Array<PendingAsk> = []
  const unfinished = yield* storage.unfinished
  for (const root of rootID === undefined ? unfinished : [rootID]) {
    if (leases.epoch(root) > 0) continue
    const owner = yield* leases.other(root)
    // The log of a tree at rest may be long.
    if (owner === undefined && !unfinished.includes(root)) continue
    const at = owner === undefined ? { abandoned: true as const } : { holder: holderOf(owner) }
    for (const ask of yield* unanswered(root)) found.push({ ...ask, ...at })
  }
  return found
})

const orphaned = (id: string, rootID: SessionID) =>
  new StorageError({
    operation: "control",
    reason: "held",
    message:
      `The process that asked ${id} has ended, or is suspended. If it is suspended, continue it (fg) and answer again. `
      + `Continue with \`skein sessions resume ${rootID}\` if it has ended: it asks again, and you can answer then.`
  })

/** Answers a question here, or else in the tree of another process that has asked it. */
export const answerAnywhere = <E extends { readonly _tag: string }, R>(
  request: Answering,
  own: Effect.Effect<void, E, R>
): Effect.Effect<void, E | StorageError, R | Ids | Leases | SessionStorage> =>
  Effect.catchIf(
    own,
    ({ _tag }) => isUnknown(_tag),
    (error) =>
      Effect.gen(function*() {
        const ask = (yield* asksElsewhere()).find(({ id }) => id === request.id)
        if (ask === undefined) return yield* Effect.fail(error)
        const { rootID } = ask
        const answer = yield* Effect.mapError(
          askHolder({ id: rootID, rootID }, request, refusals.question),
          (refusal) => refusal._tag === "StorageError" ? refusal : error
        )
        if (answer === undefined) return yield* orphaned(ask.id, rootID)
      })
  )

const isUnknown = (tag: string): boolean => tag === "PermissionNotFound" || tag === "QuestionNotFound"
