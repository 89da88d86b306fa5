/**
 * What `skein tasks send` and `skein tasks stop` do. They ask the process that runs a task, at its server or through the
 * database.
 */
import { Backend } from "@skein/backend/Backend"
import { askHolder, isHeld, leaveRequest, refusals } from "@skein/core/Control"
import { Ids } from "@skein/domain/Id"
import type { TaskRun } from "@skein/domain/Outcome"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { CommandError } from "../../CommandSpec.ts"
import { ExitCode } from "../../ExitCode.ts"
import { Stdio } from "../../Stdio.ts"
import { UsageError } from "../../UsageError.ts"
import { platform, storage } from "../app.ts"
import { type AttachFlags, backendOf } from "../attach/attach.ts"
import { serverOf } from "../attach/database.ts"
import type { Found } from "../attach/findServer.ts"
import { layer as remoteStorage } from "../attach/remoteStorage.ts"
import { errorLine } from "../explain.ts"
import { newestRun, runText } from "./tasks.ts"

const database = (db: string | undefined) =>
  Layer.merge(Layer.provideMerge(storage, platform({ database: db })), Ids.layer)

const placeOf = ({ rootID, taskID }: TaskRun) => ({ id: taskID, rootID })

const notAtWork = ({ outcome, taskID }: TaskRun): string =>
  `The task ${taskID} was not at work: it has settled (${outcome?.status}).\n`

const settledAlready = ({ outcome, parentID, taskID }: TaskRun): UsageError =>
  new UsageError({
    message:
      `The task ${taskID} is not at work: it has settled (${outcome?.status}). Continue it with \`skein run -s ${taskID}\`, or its caller with \`skein sessions resume ${parentID}\`.`
  })

/** The run that an id means, as a server reports it. */
const runOn = (found: Found, id: string) =>
  newestRun(id).pipe(Effect.provide(Layer.provide(remoteStorage, backendOf(found))))

/** Sends a message to a task on a server. */
const sendOn = (found: Found, id: string, text: string) =>
  Effect.gen(function*() {
    const stdio = yield* Stdio
    const run = yield* runOn(found, id)
    if (run.state === "settled") return yield* settledAlready(run)
    const { tasks } = yield* Backend
    const told = yield* tasks.message(run.taskID, text)
    stdio.out(
      told.status === "steered"
        ? `The task ${run.taskID} reads it at its next step.\n`
        : `The task ${run.taskID} had just settled, and starts again with it.\n`
    )
    return ExitCode.done
  }).pipe(Effect.provide(backendOf(found)))

/** Stops a task on a server. */
const stopOn = (found: Found, id: string, reason: string | undefined) =>
  Effect.gen(function*() {
    const stdio = yield* Stdio
    const run = yield* runOn(found, id)
    if (run.state !== "settled") {
      const { tasks } = yield* Backend
      stdio.err(`The task ${run.taskID} is stopping: it has half a minute to conclude.`)
      yield* tasks.stop(run.taskID, reason)
      stdio.out(runText(yield* runOn(found, run.taskID), yield* Clock.currentTimeMillis))
    } else stdio.out(notAtWork(run))
    return ExitCode.done
  }).pipe(Effect.provide(backendOf(found)))

/** Sends a message to a running task. */
export const sendToTask = ({ flags, operands: [id = "", ...words] }: {
  readonly flags: AttachFlags
  readonly operands: ReadonlyArray<string>
}): Effect.Effect<number, CommandError, Stdio> =>
  Effect.gen(function*() {
    const stdio = yield* Stdio
    const text = words.join(" ").trim()
    if (text === "") {
      return yield* new UsageError({ message: "There is no message. Write it after the id of the task." })
    }
    const found = yield* serverOf(flags)
    if (found !== undefined) return yield* sendOn(found, id, text)
    const run = yield* newestRun(id)
    if (run.state === "settled") return yield* settledAlready(run)
    const request = { type: "task_message", message: text.toWellFormed() } as const
    const answer = yield* askHolder(placeOf(run), request, refusals.task)
    if (answer === undefined) {
      yield* leaveRequest(placeOf(run), request)
      stdio.err(
        errorLine(
          `No process answers for the task ${run.taskID}: it may have ended. The message is kept, and read when the task continues.`
        )
      )
      return ExitCode.failed
    }
    stdio.out(`The task ${run.taskID} reads it at its next step.\n`)
    return ExitCode.done
  }).pipe(Effect.provide(database(flags.db)))

/** Stops a task, and waits until it has settled. */
export const stopTask = ({ flags, operands: [id = ""] }: {
  readonly flags: AttachFlags & { readonly reason: string | undefined }
  readonly operands: ReadonlyArray<string>
}): Effect.Effect<number, CommandError, Stdio> =>
  Effect.gen(function*() {
    const stdio = yield* Stdio
    const found = yield* serverOf(flags)
    if (found !== undefined) return yield* stopOn(found, id, flags.reason)
    const run = yield* newestRun(id)
    if (run.state === "settled") {
      stdio.out(notAtWork(run))
      return ExitCode.done
    }
    const { reason } = flags
    const request = { type: "task_stop", by: "the user", ...(reason === undefined ? {} : { reason }) } as const
    const held = yield* isHeld(run.rootID)
    if (held) stdio.err(`The task ${run.taskID} is stopping: it has half a minute to conclude.`)
    const answer = held ? yield* askHolder(placeOf(run), request, refusals.task) : undefined
    if (answer === undefined) {
      yield* leaveRequest(placeOf(run), request)
      stdio.err(
        errorLine(
          `No process answers for the task ${run.taskID}: it may have ended. The stop is kept, and holds when the task continues. See \`skein tasks show ${run.taskID}\`.`
        )
      )
      return ExitCode.failed
    }
    stdio.out(runText(yield* newestRun(run.taskID), yield* Clock.currentTimeMillis))
    return ExitCode.done
  }).pipe(Effect.provide(database(flags.db)))
