/** The second half of a step: all calls that the model asked for, in parallel, with their results in its order. */
import type { SessionID } from "@skein/domain/Id"
import type { ToolPart } from "@skein/domain/Part"
import type { Ruleset } from "@skein/domain/Rule"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import { Config } from "../../Config.ts"
import { Hooks } from "../../Hooks.ts"
import { Journal } from "../../Journal.ts"
import { Leases } from "../../Leases.ts"
import { countCall } from "../../Metrics.ts"
import { Permission, type Subject } from "../../Permission.ts"
import { SessionStorage } from "../../SessionStorage.ts"
import { logUnstored } from "../../StorageError.ts"
import { type AnyTool, authorised, type ToolCaller, Tools } from "../../Tool.ts"
import { Workspaces } from "../../Workspaces.ts"
import type { StructuredOutput } from "../conversation/structuredOutput.ts"
import type { LiveMessage } from "../live/History.ts"
import { type Live, sessionAttributes } from "../live/Live.ts"
import { SessionTable } from "../live/SessionTable.ts"
import type { Step } from "../model/Step.ts"
import { editingOf, readingOf } from "../permission/verdict.ts"
import { asHooksSee } from "../sessionHooks.ts"
import { isTraced, traced } from "../traced.ts"
import { begunAs, CallRecord, type CallServices, decidedAs, toolOf } from "./CallRecord.ts"
import { type Answered, checkCall } from "./checkCall.ts"
import { isDoomLoop } from "./doomLoop.ts"
import { toolCall } from "./toolCall.ts"

/**
 * Starts what can start, so that it is stored together with the answer: that saves one disk flush in every step. Every
 * other call stays as it is, and reports itself what is wrong with it or who must be asked.
 */
export const startCalls = Effect.fnUntraced(function*(
  live: Live,
  answered: Answered,
  subject: Subject,
  caller: ToolCaller,
  structuredOutput: StructuredOutput | undefined
) {
  const context = yield* Effect.context<Tools | Permission | Hooks | Leases>()
  const tools = Context.get(context, Tools)
  const permission = Context.get(context, Permission)
  const hooks = Context.get(context, Hooks)
  const epoch = Context.get(context, Leases).epoch(live.info.rootID)
  const clock = yield* Effect.clock
  const parts = [...answered.calls]
  const history = [...(live.messages ?? []), { parts }]

  const mayBegin = Effect.fnUntraced(function*(part: ToolPart, tool: AnyTool, input: unknown) {
    const held = permission.atHome(subject)
    const present = { ...caller, reading: readingOf(held), editing: editingOf(held) }
    const { asks, plan } = authorised(yield* tool.authorise(input, present))
    let decision: Ruleset = []
    for (const ask of asks) {
      const action = yield* permission.decide(subject, tool, ask, (rules) => {
        decision = [...decision, ...rules]
      })
      if (action !== "allow") return part
    }
    live.calls.note(part.id, plan)
    const begun = begunAs(part, tool, input, clock.unsafeCurrentTimeMillis(), epoch)
    return decidedAs(begun, subject, decision)
  })

  for (const [at, part] of answered.calls.entries()) {
    const tool = toolOf(tools, part.tool, structuredOutput)
    const input = checkCall(part, answered, tool)
    if (tool === undefined || Either.isLeft(input)) continue
    // Hooks come first, and may take their time.
    const isHooked = hooks.isRegistered("PreToolUse", asHooksSee(tool, input.right).tool)
    if (isHooked && tool !== structuredOutput?.tool) continue
    if (isDoomLoop(live, history, part, input.right)) continue
    parts[at] = yield* mayBegin(part, tool, input.right).pipe(
      Effect.catchTag("ToolError", () => Effect.succeed(part)),
      Effect.catchAllDefect(() => Effect.succeed(part))
    )
  }
  return parts
})

/** How a call ended, by its stored state; a call that stored nothing was interrupted. */
const outcomeOf = (message: LiveMessage, { id }: ToolPart): string => {
  const part = message.parts.find((each) => each.id === id)
  if (part?.type !== "tool") return "interrupted"
  if (part.state.status === "completed") return "completed"
  return part.state.status === "error" ? part.state.error.tag : "interrupted"
}

/** A call to make. */
interface Making {
  readonly step: Step
  readonly part: ToolPart
  /** Whether the turn continues after a crash. */
  readonly resumes: boolean
}

/** Makes calls in parallel, with their spans and metrics; returns whether the turn ends with them. */
export const makeCalls = Effect.fnUntraced(function*(
  live: Live,
  subject: Subject,
  making: ReadonlyArray<Making>,
  structuredOutput: StructuredOutput | undefined,
  byUser = false
) {
  const context = yield* Effect.context<Config | Tools | Permission | Journal | Hooks | Leases>()
  const { settings: { limits } } = Context.get(context, Config)
  const services: CallServices = {
    tools: Context.get(context, Tools),
    permission: Context.get(context, Permission),
    journal: Context.get(context, Journal),
    hooks: Context.get(context, Hooks),
    leases: Context.get(context, Leases),
    clock: yield* Effect.clock
  }
  // The span of a call needs its fiber.
  const mayRest = !(yield* isTraced) && making.length > 1
  live.calls.limit(limits.concurrency)
  const begun: Array<number> = []
  // The name of its tool: one that a model invented would be a label without limit.
  const nameOf = ({ part }: Making) => toolOf(services.tools, part.tool, structuredOutput)?.name ?? "unknown"
  const at = (index: number) => making[index] as Making
  const results = yield* live.calls.make(
    making.map(({ part, resumes }) => live.calls.take(part.id, resumes, part.state.status === "running")),
    (call, index, restore) => {
      const { part, step } = at(index)
      begun[index] = live.clock.now()
      return traced(
        `Tool.${nameOf(at(index))}`,
        () => ({
          "gen_ai.operation.name": "execute_tool",
          "gen_ai.tool.name": nameOf(at(index)),
          "gen_ai.tool.call.id": part.id,
          ...sessionAttributes(live)
        }),
        Effect.suspend(() =>
          toolCall(
            new CallRecord({ live, step, part, subject, call, byUser, structuredOutput, mayRest }, services),
            restore
          )
        ),
        () => {
          const outcome = outcomeOf(step.message, part)
          return { outcome, failed: outcome !== "completed" && outcome !== "interrupted" }
        }
      )
    },
    (_, index) => {
      const { part, step } = at(index)
      countCall(nameOf(at(index)), outcomeOf(step.message, part), live.clock.now() - (begun[index] ?? 0))
    }
  )
  return results.some(({ endsTurn }) => endsTurn)
})

/**
 * Runs the calls of a step; returns whether the turn ends with them. After a crash, they may have been started before.
 */
export const toolCalls = Effect.fnUntraced(function*(
  live: Live,
  step: Step,
  subject: Subject,
  structuredOutput: StructuredOutput | undefined,
  resumes = false
) {
  const making = step.calls.map((part) => ({ step, part, resumes }))
  const endsTurn = yield* makeCalls(live, subject, making, structuredOutput)
  yield* keepStep(live, step.message, step.calls)
  return endsTurn
})

/** Whether calls of an answer have begun that may have changed files. */
const mayHaveChanged = (message: LiveMessage, calls: ReadonlyArray<ToolPart>): boolean => {
  const ids = new Set(calls.map(({ id }) => id))
  return message.parts.some((part) =>
    part.type === "tool" && ids.has(part.id) && part.intent !== undefined && part.intent.effect !== "safe"
  )
}

const isIsolated = (live: Live): boolean =>
  live.info.worktree !== undefined || (live.parent !== undefined && isIsolated(live.parent))

/** Stores why the last step is not kept, or that it is. By then, the tree may have been elsewhere. */
const tell = Effect.fnUntraced(function*(rootID: SessionID, failure: string | undefined) {
  const root = (yield* SessionTable).peek(rootID)
  if (root?.info.workspace === undefined || root.info.workspace.failure === failure) return
  const { workspace } = root.info
  const { failure: _, ...rest } = workspace
  const journal = yield* Journal
  yield* journal.commit([
    root.record.annotate({ workspace: failure === undefined ? rest : { ...rest, failure } })
  ])
}, Effect.catchAll(logUnstored("Whether the last step is kept could not be stored")))

/** Keeps the files of a tree as they are now. Never fails: the root says why they are not kept. */
export const keepFiles = Effect.fnUntraced(function*(live: Live) {
  const { root } = live
  const { directory, id: rootID, workspace } = root.info
  if (workspace === undefined || isIsolated(live)) return
  const context = yield* Effect.context<Journal | SessionTable>()
  const storage = yield* SessionStorage
  const leases = yield* Leases
  const workspaces = yield* Workspaces
  const { last: seq } = yield* storage.eventRange(rootID)
  yield* workspaces.keep(
    { rootID, directory, workspace, epoch: leases.epoch(rootID), seq },
    (failure) => Effect.provide(tell(rootID, failure), context)
  )
}, Effect.catchAll(logUnstored("The files of a step were not kept")))

/** The same after calls, unless they cannot have changed anything. */
const keepStep = (live: Live, message: LiveMessage, calls: ReadonlyArray<ToolPart>) =>
  live.root.info.workspace !== undefined && mayHaveChanged(message, calls)
    ? Effect.zipRight(Effect.flatMap(Journal, (journal) => journal.paid(live.info)), keepFiles(live))
    : Effect.void
