/** One tool call from the model's words to its result: validation, permission, intent, effect. */
import type { ErrorInfo } from "@skein/domain/Message"
import type { ToolPart, ToolState } from "@skein/domain/Part"
import { none } from "@skein/domain/Usage"
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as ParseResult from "effect/ParseResult"
import * as Schema from "effect/Schema"
import type { Call } from "../../Governor.ts"
import { Journal } from "../../Journal.ts"
import { Permission, type Subject } from "../../Permission.ts"
import { cut } from "../../Spill.ts"
import { type AnyTool, type PermissionAsk, type ToolContext, ToolError, type ToolResult, Tools } from "../../Tool.ts"
import { wellFormed } from "../wellFormed.ts"
import type { Wanted } from "./finalAnswer.ts"
import { missingResult } from "./history.ts"
import { charge, type Live, personAnswers, putPart } from "./live.ts"
import type { Step } from "./modelStep.ts"
import { callerOf } from "./offer.ts"
import { repeats, signature } from "./repetition.ts"

/** What became of a call, as far as the turn is concerned. */
interface Called {
  /** A person said no, or the agent goes round in circles: the turn ends. */
  readonly endsTurn: boolean
}

const refused = (kind: string, message: string) => new ToolError({ kind, message })

const parseJson = Schema.decodeUnknownEither(Schema.parseJson())

/** Reads what the model wrote; every way in which it can be wrong has a sentence that the model can act on. */
const read = (part: ToolPart, step: Step, tool: AnyTool | undefined, offered: ReadonlyArray<string>) => {
  const text = part.state.status === "pending" ? part.state.input : ""
  if (step.finish === "length") {
    return Either.left(
      refused(
        "cut_off",
        "The answer was cut off at its length limit, so this call was not run. Answer in smaller pieces."
      )
    )
  }
  if (tool === undefined || !offered.includes(tool.name)) {
    return Either.left(
      refused("unknown_tool", `There is no tool "${part.tool.slice(0, 64)}" here. Tools: ${offered.join(", ")}.`)
    )
  }
  const json = parseJson(text.trim() === "" ? "{}" : text)
  if (Either.isLeft(json)) {
    return Either.left(
      refused("invalid_arguments", `invalid arguments for ${tool.name}: they are not JSON. Send one JSON object.`)
    )
  }
  const decoded = Schema.decodeUnknownEither(tool.parameters)(wellFormed(json.right), {
    onExcessProperty: "error",
    errors: "all"
  })
  if (Either.isRight(decoded)) return Either.right(decoded.right)
  const issues = ParseResult.ArrayFormatter.formatErrorSync(decoded.left)
  const told = issues.slice(0, 8).map(({ message, path }) =>
    `${[tool.name, ...path.map(String)].join(".")}: ${message}`
  )
  return Either.left(refused("invalid_arguments", `invalid arguments for ${tool.name}: ${told.join("; ")}`))
}

/** A second call with the id of an earlier one of the same message. */
const isDouble = (step: Step, part: ToolPart): boolean =>
  part.callID !== "" && step.calls.find((each) => each.callID === part.callID)?.id !== part.id

/** Runs one call to its end. It never fails but by storage: what goes wrong becomes the call's result. */
export const toolCall = Effect.fnUntraced(function*(options: {
  readonly live: Live
  readonly step: Step
  readonly part: ToolPart
  readonly subject: Subject
  readonly call: Call
  readonly offered: ReadonlyArray<string>
  readonly permits: Effect.Semaphore
  /** Whether the runtime makes the call for the user: a part of the user's prompt asked for it. */
  readonly byUser: boolean
  /** The answer that this turn is to give, and the tool that takes it. */
  readonly wanted: Wanted | undefined
}) {
  const { byUser, call, live, offered, part, permits, step, subject, wanted } = options
  const tools = yield* Tools
  const permission = yield* Permission
  const journal = yield* Journal
  const clock = yield* Clock.clockWith(Effect.succeed)
  const now = () => clock.unsafeCurrentTimeMillis()
  const tool = part.tool === wanted?.tool.name ? wanted.tool : tools.get(part.tool)
  let current = part
  let cutOff: ToolError | undefined

  const become = (state: ToolState, extra: Partial<Pick<ToolPart, "intent">> = {}, blocked = false) =>
    Effect.suspend(() => {
      current = { ...current, ...extra, state: wellFormed(state) }
      putPart(step.message, current)
      return journal.commit(
        [
          { _tag: "Part", part: current },
          ...(blocked ? charge(live, { ...none, blockedToolCalls: 1 }, now()) : [])
        ],
        [journal.event(live.info, "message.part.updated", { part: current }, now())]
      )
    }).pipe(Effect.uninterruptible)

  const started = () => (current.state.status === "running" ? current.state.time.start : now())

  const fail = (input: unknown, error: ErrorInfo, metadata?: Readonly<Record<string, unknown>>, blocked = false) =>
    become(
      {
        status: "error",
        input,
        error,
        ...(metadata === undefined ? {} : { metadata }),
        time: { start: started(), end: now() }
      },
      {},
      blocked
    )

  // Nobody sees a refusal of what the user asked for but the next model: it is told as the failure that it is.
  const said = (error: ToolError) =>
    byUser && error.kind !== "task" ? `Tool execution failed: ${error.message}` : error.message

  const written = part.state.status === "pending" ? part.state.input : ""
  const asked = Either.getOrElse(parseJson(written), () => written)
  const input = isDouble(step, part)
    ? Either.left(
      refused(
        "duplicate_id",
        `The id ${part.callID} names an earlier call of this answer. Give each call an id of its own.`
      )
    )
    : read(part, step, tool, offered)
  const given = Either.getOrElse(input, () => asked)
  const caller = tool ?? { name: part.tool, permission: part.tool }

  const whileAsking = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
    Effect.acquireUseRelease(
      Effect.sync(() => personAnswers(live, now(), true)),
      () => effect,
      () => Effect.sync(() => personAnswers(live, now(), false))
    )

  const ask = (each: PermissionAsk) =>
    Effect.flatMap(permission.decide(subject, caller, each), (action) => {
      if (action === "allow") return Effect.void
      const authorise = permission.authorise(subject, caller, each)
      return action === "ask" ? call.waiting(whileAsking(authorise)) : authorise
    })

  // Also calls that cannot be read may go on for ever; those that were cut off are counted by the loop.
  const goesRound = step.finish !== "length" && repeats(live.messages ?? [], part, given)
  const circles: ReadonlyArray<PermissionAsk> = goesRound
    ? [{
      permission: "doom_loop",
      patterns: [caller.name],
      always: [],
      metadata: { tool: caller.name, input: given, reason: "The same call was made three times in a row." }
    }]
    : []

  const context: ToolContext = {
    ...callerOf(live, step.model, byUser),
    messageID: part.messageID,
    partID: part.id,
    callID: part.callID,
    ifCutOff: (end) =>
      Effect.sync(() => {
        cutOff = end
      }),
    report: (update) =>
      Effect.sync(() => {
        if (current.state.status !== "running") return
        current = { ...current, state: { ...current.state, ...update } }
        putPart(step.message, current)
        journal.tell(journal.event(live.info, "message.part.updated", { part: current }, now()))
      })
  }

  const run = Effect.gen(function*() {
    for (const each of circles) yield* ask(each)
    if (Either.isLeft(input)) return yield* input.left
    if (tool === undefined) return yield* refused("unknown_tool", part.tool)
    for (const each of yield* tool.authorise(given, context)) yield* ask(each)
    yield* become(
      { status: "running", input: given, title: tool.title(given), time: { start: now() } },
      { intent: { effect: tool.effect, hash: signature(tool.name, given), attempt: 1, epoch: 0 } }
    )
    // Nothing of it happens before it is its turn, and a fiber of its own that was cut off is no stop of the turn.
    const effect = Effect.catchAllCause(
      Effect.suspend(() => tool.execute(given, context)),
      (cause) =>
        Cause.isInterruptedOnly(cause) ? Effect.fail(refused("interrupted", missingResult)) : Effect.failCause(cause)
    )
    const result: ToolResult = yield* tool.waits ? call.waiting(effect) : permits.withPermits(1)(effect)
    const output = yield* cut(live.info.id, `${part.id}.txt`, result.output)
    yield* become({
      status: "completed",
      input: given,
      output,
      title: result.title,
      metadata: result.metadata,
      ...(result.attachments === undefined ? {} : { attachments: result.attachments }),
      time: { start: started(), end: now() }
    })
    return { endsTurn: false } satisfies Called
  })

  return yield* run.pipe(
    Effect.catchTags({
      ToolError: (error) =>
        Effect.as(fail(given, { tag: error.kind, message: said(error) }, error.metadata), { endsTurn: false }),
      PermissionDenied: (error) =>
        Effect.as(
          fail(
            given,
            { tag: "permission", message: error.message },
            { permission: error.permission, by: error.by },
            true
          ),
          { endsTurn: error.endsTurn || (error.permission === "doom_loop" && error.by !== "rejected") }
        )
    }),
    Effect.catchAllDefect((defect) =>
      Effect.as(
        fail(given, {
          tag: "defect",
          message: `Tool execution failed: ${defect instanceof Error ? defect.message : String(defect)}`
        }),
        { endsTurn: false }
      )
    ),
    Effect.onInterrupt(() =>
      current.state.status === "completed" || current.state.status === "error"
        ? Effect.void
        : fail(
          given,
          {
            tag: "interrupted",
            message: cutOff?.message ??
              (current.state.status === "running" && tool?.effect !== "safe"
                ? missingResult
                : "The call was interrupted before it ended.")
          },
          cutOff?.metadata
        ).pipe(Effect.catchAll((lost) => Effect.logError("The end of a call could not be stored", lost.message)))
    )
  )
})
