/**
 * The first half of a call: runs the hooks before it, decides its permission, and stores the intent before the effect.
 */
import * as Effect from "effect/Effect"
import { failpoint } from "../../Failpoints.ts"
import type { AnyTool, PermissionAsk } from "../../Tool.ts"
import { type Before, beforeCall, deniedFirst, insisting, withInput } from "../sessionHooks.ts"
import type { CallRecord } from "./CallRecord.ts"
import { refused } from "./checkCall.ts"
import { whileAsking } from "./currentCall.ts"
import { isDoomLoop } from "./doomLoop.ts"
import { begunAs } from "./startCalls.ts"

/** Asks whether an agent that repeats itself may continue. */
const doomLoopAsk = (tool: string, input: unknown): PermissionAsk => ({
  permission: "doom_loop",
  patterns: [tool],
  always: [],
  metadata: {
    tool,
    input,
    reason: "The agent repeats itself: the same call, or the same cycle of calls, for the third time in a row."
  }
})

/** Decides one ask; waits for a person if the rules say so, while the clocks of the session pause. */
const ask = (call: CallRecord, each: PermissionAsk, changed?: (input: unknown) => void) => {
  const { options: { call: slot, live, part, resumes = false, subject }, services: { permission } } = call
  return Effect.flatMap(permission.decide(subject, call.caller, each), (action) => {
    if (action === "allow") return Effect.void
    const asking = { partID: part.id, resumes, about: { input: call.input, callID: part.callID } }
    const authorise = permission.authorise(
      subject,
      call.caller,
      each,
      changed === undefined ? asking : { ...asking, changed }
    )
    return action === "ask" ? slot.waiting(whileAsking(live, authorise)) : authorise
  })
}

/** Applies what the hooks before the call changed and said. */
const prepare = (call: CallRecord, before: Before | undefined): void => {
  if (before === undefined) return
  call.hear(before.contexts)
  if (before.part !== call.options.part) call.readAgain(before.part)
}

/** Calls that cannot be parsed may loop as well. The session loop itself counts calls and answers that were cut off. */
const repeatsItself = (call: CallRecord): boolean => {
  const { live, part, step } = call.options
  return step.finish !== "length" && !call.isAnswer && isDoomLoop(live, live.messages ?? [], part, call.input)
}

/** A hook consented to the call with other arguments: what rules deny stays denied. */
const authoriseChanged = (call: CallRecord, tool: AnyTool, changed: { readonly input: unknown }) =>
  Effect.gen(function*() {
    call.readAgain(withInput(call.options.part, changed.input))
    if (call.invalid !== undefined) return yield* call.invalid
    for (const each of yield* tool.authorise(call.input, call.context)) yield* ask(call, { ...each, consented: true })
  })

/** Returns the tool when the call is permitted and its intent is stored; fails with the reason otherwise. */
export const authoriseCall = (call: CallRecord) =>
  Effect.gen(function*() {
    const { options: { live, part }, services: { hooks, leases }, tool } = call
    const before = yield* beforeCall(hooks, live, part, call.hookedTool)
    prepare(call, before)
    if (repeatsItself(call)) yield* ask(call, doomLoopAsk(call.caller.name, call.input))
    if (before?.refusal !== undefined) return yield* before.refusal
    if (call.invalid !== undefined) return yield* call.invalid
    if (tool === undefined) return yield* refused("unknown_tool", part.tool)
    const asks = insisting(yield* tool.authorise(call.input, call.context), tool, call.input, before)
    const { caller, options: { subject }, services: { permission } } = call
    let changed: { readonly input: unknown } | undefined
    for (const each of yield* deniedFirst(asks, (one) => permission.decide(subject, caller, one))) {
      yield* ask(call, each, (input) => {
        changed = { input }
      })
    }
    if (changed !== undefined) yield* authoriseChanged(call, tool, changed)
    live.history.markUnbegun(part.id)
    yield* failpoint("intent_before_commit")
    yield* call.become(begunAs(call.current, tool, call.input, call.now(), leases.epoch(live.info.rootID)))
    yield* failpoint("intent_after_commit")
    return tool
  })
