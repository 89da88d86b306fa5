/** Answers the methods of the protocol's tasks, in both of their forms. */
import { ProtocolError, ProtocolErrorCode, type Server } from "@modelcontextprotocol/server"
import type { ManyServices } from "@skein/core/Skein"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { cleanLine } from "../cleanText.ts"
import { tasksExtension } from "../tasks/Task.ts"
import { answerAll, attend } from "./attend.ts"
import { type Call, callOf } from "./Call.ts"
import type { Delegation } from "./Delegation.ts"
import type { Owner } from "./Owner.ts"
import { earlierTask, extensionTask } from "./taskObjects.ts"

/** Runs an effect for a request. */
export type Run = <A, E>(effect: Effect.Effect<A, E, ManyServices>) => Promise<A>

const named = { params: Schema.standardSchemaV1(Schema.Struct({ taskId: Schema.String })) }

const updated = {
  params: Schema.standardSchemaV1(Schema.Struct({
    taskId: Schema.String,
    // The SDK has taken them out by then, and gives them with the context.
    inputResponses: Schema.optional(Schema.Record({ key: Schema.String, value: Schema.Unknown }))
  }))
}

const nothing = { params: Schema.standardSchemaV1(Schema.Struct({})) }

const protocolError = (code: number, message: string, data?: unknown) =>
  Effect.die(new ProtocolError(code, message, data))

/** The code for a capability that the client did not declare. */
const missingCapability = -32_021

const checkKnows = (call: Call): Effect.Effect<void> =>
  !call.isModern || call.knowsTasks
    ? Effect.void
    : protocolError(missingCapability, "Missing required client capability", {
      requiredCapabilities: { extensions: { [tasksExtension]: {} } }
    })

const runOf = (owner: Owner, call: Call, id: string): Effect.Effect<Delegation> =>
  Effect.zipRight(
    checkKnows(call),
    Effect.suspend(() => {
      const run = owner.run(id)
      return run === undefined
        ? protocolError(ProtocolErrorCode.InvalidParams, `Task not found: ${cleanLine(id, 64)}`)
        : Effect.succeed(run)
    })
  )

/** A request about a run attends to it. */
const seen = <A>(run: Delegation, effect: Effect.Effect<A>): Effect.Effect<A> =>
  Effect.scoped(Effect.zipRight(run.attend, effect))

/** Registers the methods of tasks. */
export const registerTaskMethods = (server: Server, owner: Owner, run: Run): void => {
  server.setRequestHandler("tasks/get", named, ({ taskId }, context) => {
    const call = callOf(server, context)
    const found = Effect.flatMap(
      runOf(owner, call, taskId),
      (task) => seen(task, call.isModern ? extensionTask(task) : earlierTask(task))
    )
    return run(found)
  })
  server.setRequestHandler("tasks/cancel", named, ({ taskId }, context) => {
    const call = callOf(server, context)
    const cancelled = Effect.flatMap(
      runOf(owner, call, taskId),
      (task) => Effect.zipRight(owner.cancel(task), call.isModern ? Effect.succeed({}) : earlierTask(task))
    )
    return run(cancelled)
  })
  server.setRequestHandler("tasks/update", updated, ({ inputResponses, taskId }, context) => {
    const call = callOf(server, context)
    const responses = { ...inputResponses, ...context.mcpReq.inputResponses }
    const answered = Effect.flatMap(runOf(owner, call, taskId), (task) => Effect.as(answerAll([task], responses), {}))
    return run(answered)
  })
  server.setRequestHandler("tasks/result", named, ({ taskId }, context) => {
    const call = callOf(server, context)
    if (call.isModern) throw new ProtocolError(ProtocolErrorCode.MethodNotFound, "Method not found")
    return run(Effect.flatMap(runOf(owner, call, taskId), (task) => attend([task], call)))
  })
  server.setRequestHandler("tasks/list", nothing, (_, context) => {
    if (callOf(server, context).isModern) throw new ProtocolError(ProtocolErrorCode.MethodNotFound, "Method not found")
    return run(Effect.map(Effect.forEach(owner.runs(), earlierTask), (tasks) => ({ tasks })))
  })
}
