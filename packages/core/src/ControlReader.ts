/** Carries out what other processes ask for in the trees that this one holds. */
import type { ControlAnswer, ControlRow } from "@skein/domain/Control"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as FiberSet from "effect/FiberSet"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import { notWaiting } from "./Answerer.ts"
import { receiptOf, refusalOf } from "./Control.ts"
import { Leases } from "./Leases.ts"
import { Permission } from "./Permission.ts"
import { Question } from "./Question.ts"
import { Session } from "./Session.ts"
import { findTask } from "./SessionLookup.ts"
import { SessionStorage } from "./SessionStorage.ts"
import { Tasks } from "./Tasks.ts"

/** How often to look for requests (ms). */
const pace = 500

/** Carries a request out; its result is JSON. */
const carryOut = ({ id, request, rootID, sessionID }: ControlRow) =>
  Effect.gen(function*() {
    const session = yield* Session
    const tasks = yield* Tasks
    switch (request.type) {
      case "stop":
        return yield* session.stop(sessionID, request.by)
      case "mode":
        return yield* session.setMode(sessionID, request.mode)
      case "task_stop":
        return yield* tasks.stop(yield* findTask(sessionID), {
          by: request.by,
          ...(request.reason === undefined ? {} : { reason: request.reason })
        })
      case "task_message": {
        // An earlier holder may have delivered it, and ended before it could say so.
        const receipt = { key: receiptOf(id), digest: id }
        if (Option.isSome(yield* (yield* SessionStorage).receipt(receipt.key))) return "steered"
        return yield* tasks.message(yield* findTask(sessionID), request.message, { receipt })
      }
      case "task_promote":
        return yield* tasks.promote(yield* findTask(sessionID))
      case "reply": {
        const permission = yield* Permission
        const { answer, id: asked, message, scope } = request
        if (!(yield* permission.pending(rootID)).some((each) => each.id === asked)) return yield* notWaiting(asked)
        const options = { ...(message === undefined ? {} : { message }), ...(scope === undefined ? {} : { scope }) }
        return yield* permission.reply(asked, answer, options)
      }
      case "answer":
      case "dismiss": {
        const question = yield* Question
        if (!(yield* question.pending(rootID)).some((each) => each.id === request.id)) {
          return yield* notWaiting(request.id)
        }
        return yield* request.type === "answer"
          ? question.reply(request.id, request.answers)
          : question.dismiss(request.id)
      }
    }
  })

const answerOf = (exit: Exit.Exit<unknown, unknown>): ControlAnswer =>
  Exit.match(exit, {
    onFailure: (cause) => refusalOf(Cause.squash(cause)),
    onSuccess: (value) => ({ ok: true, ...(value === undefined ? {} : { value }) })
  })

/** Looks for requests while this process holds a tree, and answers them. */
export const layer = Layer.scopedDiscard(Effect.gen(function*() {
  const storage = yield* SessionStorage
  const leases = yield* Leases
  const { mail } = storage
  if (mail === undefined) return
  const fibers = yield* FiberSet.make<void, never>()
  const inHand = new Set<string>()
  /** Those that were answered since the last reading began: it may have found them without their answer. */
  const answered = new Set<string>()
  let waiting: ReadonlyArray<ControlRow> = []
  const answer = (row: ControlRow) =>
    Effect.exit(carryOut(row)).pipe(
      Effect.flatMap((exit) =>
        // The next holder answers instead, if this process ends or has lost the tree meanwhile.
        Exit.isInterrupted(exit) || leases.epoch(row.rootID) === 0 && Exit.isFailure(exit)
          ? Effect.succeed(false)
          : Effect.as(storage.commit([{ _tag: "Control", row: { ...row, answer: answerOf(exit) } }]), true)
      ),
      Effect.catchAll((error) =>
        Effect.as(Effect.logWarning("A request of another process was not answered", error.message), false)
      ),
      Effect.onExit((exit) =>
        Effect.sync(() => {
          inHand.delete(row.id)
          if (Exit.isSuccess(exit) && exit.value) answered.add(row.id)
          // This process may take the tree again, and nobody else commit until then.
          else waiting = [...waiting, row]
        })
      ),
      Effect.asVoid
    )
  const look = Effect.gen(function*() {
    answered.clear()
    const found = yield* mail
    if (found !== undefined) waiting = found.filter(({ id }) => !inHand.has(id) && !answered.has(id))
    const here = waiting.filter(({ rootID }) => leases.epoch(rootID) > 0)
    waiting = waiting.filter((row) => !here.includes(row))
    for (const row of here) {
      inHand.add(row.id)
      yield* FiberSet.run(fibers, answer(row))
    }
  }).pipe(
    Effect.catchAll((error) => Effect.logWarning("Requests of other processes could not be read", error.message)),
    Effect.when(() => leases.holdsAny())
  )
  yield* Effect.forkScoped(Effect.forever(Effect.zipRight(Effect.sleep(pace), look)))
}))
