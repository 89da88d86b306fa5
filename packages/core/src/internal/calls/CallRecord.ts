/** Owns one tool call while it runs: its stored part, its arguments, and the outcomes that its result reports. */
import type { RunID } from "@skein/domain/Id"
import type { ErrorInfo } from "@skein/domain/Message"
import type { ToolPart, ToolState } from "@skein/domain/Part"
import type { Ruleset } from "@skein/domain/Rule"
import { none } from "@skein/domain/Usage"
import type * as Clock from "effect/Clock"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as FiberRef from "effect/FiberRef"
import type { Hooks } from "../../Hooks.ts"
import type { Journal } from "../../Journal.ts"
import type { Leases } from "../../Leases.ts"
import type { Permission, Subject } from "../../Permission.ts"
import type { Caller } from "../../Ruleset.ts"
import type { AnyTool, ToolContext, ToolError, Tools } from "../../Tool.ts"
import type { Entry } from "../../Write.ts"
import { askedOf } from "../conversation/askedOf.ts"
import { endSubtask, notRun } from "../conversation/closeTurn.ts"
import { missingResult } from "../conversation/makePrompt.ts"
import type { StructuredOutput } from "../conversation/structuredOutput.ts"
import type { Call } from "../governor/SessionCalls.ts"
import { charge } from "../live/charge.ts"
import type { Live } from "../live/Live.ts"
import { disposeOf } from "../live/stop.ts"
import type { Step } from "../model/Step.ts"
import { deniesSome, editingOf, readingOf, readsOnly } from "../permission/verdict.ts"
import { wellFormed } from "../text.ts"
import { checkCall } from "./checkCall.ts"
import { signature } from "./doomLoop.ts"
import { callerOf } from "./offer.ts"

/** The call to make. */
export interface CallOptions {
  readonly live: Live
  readonly step: Step
  readonly part: ToolPart
  readonly subject: Subject
  readonly call: Call
  /** Whether the runtime makes the call for the user, because a part of the prompt asked for it. */
  readonly byUser: boolean
  /** The structured output of this turn, and the tool that takes it. */
  readonly structuredOutput: StructuredOutput | undefined
  /** Whether the call may end its fiber while it is parked. */
  readonly mayRest: boolean
}

/** What a call means for the turn. */
export interface Called {
  /** Whether the call ends the turn: a person rejected it, or it completes a loop. */
  readonly endsTurn: boolean
}

/** The services that a call needs. */
export interface CallServices {
  readonly tools: Context.Tag.Service<Tools>
  readonly permission: Context.Tag.Service<Permission>
  readonly journal: Context.Tag.Service<Journal>
  readonly hooks: Context.Tag.Service<Hooks>
  readonly leases: Context.Tag.Service<Leases>
  readonly clock: Clock.Clock
}

/** The tool of a call, which may be the one for structured output. */
export const toolOf = (
  tools: { readonly get: (name: string) => AnyTool | undefined },
  name: string,
  structuredOutput?: StructuredOutput
) => name === structuredOutput?.tool.name ? structuredOutput.tool : tools.get(name)

/** A started call, with its intent. */
export const begunAs = (part: ToolPart, tool: AnyTool, input: unknown, now: number, epoch: number): ToolPart => ({
  ...part,
  state: { status: "running", input: wellFormed(input), title: wellFormed(tool.title(input)), time: { start: now } },
  intent: { effect: tool.effect, hash: signature(tool.name, input), attempt: 1, epoch }
})

/** A call with the rules that decided on it, if there are any. */
export const decidedAs = (part: ToolPart, { mode }: Subject, rules: Ruleset): ToolPart =>
  rules.length === 0 ? part : { ...part, decision: { mode, rules: [...new Set(rules)] } }

/** Why metadata has no JSON; undefined if it has: custom tools may return any value. */
const metadataFault = (metadata: Readonly<Record<string, unknown>> | undefined): string | undefined => {
  const written = Either.try(() => JSON.stringify(metadata))
  return Either.isLeft(written) ? String(written.left) : undefined
}

/** A state that every storage accepts: a result whose metadata has no JSON becomes an error, which has no metadata. */
const storable = (state: ToolState): ToolState => {
  if (state.status !== "completed" && state.status !== "error") return state
  const fault = metadataFault(state.metadata)
  if (fault === undefined) return state
  const { input, time } = state
  const noJson = `Its metadata has no JSON (${fault}). Keep big integers and cycles out of it.`
  const error = state.status === "completed"
    ? { tag: "metadata", message: `The call was made, but its result is lost. ${noJson}` }
    : { ...state.error, message: `${state.error.message}\n\n${noJson}` }
  return { status: "error", input, error, ...(time === undefined ? {} : { time }) }
}

/** The message of a failure without a task outcome. */
export const executionFailed = (message: string): string =>
  message.trim() === "" ? "Tool execution failed" : `Tool execution failed: ${message}`

/** The call that a fiber works for; undefined outside of all calls. */
export const currentCall = FiberRef.unsafeMake<Pick<CallRecord, "context" | "options"> | undefined>(undefined)

/** One call with its stored part. Its steps read it here, and change it only through its methods. */
export class CallRecord {
  readonly options: CallOptions
  readonly services: CallServices
  readonly tool: AnyTool | undefined
  /** Whether the call gives the structured output. */
  readonly isAnswer: boolean
  /** The call as tools see it. */
  readonly context: ToolContext
  #current: ToolPart
  #checked: Either.Either<unknown, ToolError>
  #input: unknown
  #contexts: ReadonlyArray<string> = []
  #cutOff: ToolError | undefined
  #reached: string | undefined
  /** Runs whose outcome the result reports. */
  #reportedRuns: Set<RunID> | undefined

  constructor(options: CallOptions, services: CallServices) {
    const { part, structuredOutput } = options
    this.options = options
    this.services = services
    this.tool = toolOf(services.tools, part.tool, structuredOutput)
    this.isAnswer = structuredOutput !== undefined && this.tool === structuredOutput.tool
    this.#current = part
    // A call that began with its answer was checked then.
    this.#checked = this.wasBegun ? Either.right(part.state.input) : this.#check(part)
    this.#input = Either.getOrElse(this.#checked, () => askedOf(part))
    this.context = this.#makeContext()
  }

  /** Whether the call began before this fiber: with its answer, or in a process that crashed. */
  get wasBegun(): boolean {
    return this.options.part.state.status === "running"
  }

  /** The part as it is stored, or about to be. */
  get current(): ToolPart {
    return this.#current
  }

  /** The arguments, or what the model wrote if that cannot be parsed. */
  get input(): unknown {
    return this.#input
  }

  /** What is wrong with the arguments. */
  get invalid(): ToolError | undefined {
    return Either.isLeft(this.#checked) ? this.#checked.left : undefined
  }

  /** The name and permission key for rules. */
  get caller(): Caller {
    const { tool } = this.options.part
    return this.tool ?? { name: tool, permission: tool }
  }

  /** The tool for hooks; undefined for structured output, which is not a call to them. */
  get hookedTool(): AnyTool | undefined {
    return this.isAnswer ? undefined : this.tool
  }

  /** What hooks before the call add for the model below its result. */
  get contexts(): ReadonlyArray<string> {
    return this.#contexts
  }

  /** How the tool wants the call to end if it is interrupted. */
  get cutOff(): ToolError | undefined {
    return this.#cutOff
  }

  now(): number {
    return this.services.clock.unsafeCurrentTimeMillis()
  }

  /** Replaces the arguments, which are checked again. */
  readAgain(made: ToolPart): void {
    this.#checked = this.#check(made)
    this.#input = Either.getOrElse(this.#checked, () => askedOf(made))
  }

  #check(part: ToolPart): Either.Either<unknown, ToolError> {
    return checkCall(part, this.options.step, this.tool, this.services.tools.whyMissing(part.tool))
  }

  hear(contexts: ReadonlyArray<string>): void {
    this.#contexts = contexts
  }

  /** Notes the rules that decided on the call, to be stored with its next state. */
  decide(rules: Ruleset): void {
    this.#current = decidedAs(this.#current, this.options.subject, [...this.#current.decision?.rules ?? [], ...rules])
  }

  /** Notes the result of a call that is not stored yet. */
  reach(message: string): void {
    this.#reached = message
  }

  /** The result of the call if it is interrupted now. */
  get known(): string {
    if (this.#reached !== undefined) return this.#reached
    const { intent, state } = this.#current
    if (state.status === "pending" || this.options.call.isUnbegun || intent?.begun === false) return notRun
    return this.tool?.effect === "safe" ? "The call was interrupted before it ended." : missingResult
  }

  /** Forgets which outcomes the result was to report: notifications report them instead. */
  tellNothing(): void {
    this.#reportedRuns = undefined
  }

  /** The message of a failure. A call for the user was not made by the model, so its message says what failed. */
  said(message: string): string {
    return this.options.byUser ? executionFailed(message) : message
  }

  /** Stores the current state of the call. */
  become(next: ToolPart) {
    return Effect.uninterruptible(
      Effect.suspend(() => this.services.journal.commit(this.#turnInto(next), this.options.live.info))
    )
  }

  #turnInto(next: ToolPart): ReadonlyArray<Entry> {
    const { live, step } = this.options
    this.#current = next
    live.clock.alive()
    live.history.putPart(step.message, next)
    return [{ _tag: "Part", part: next }]
  }

  /**
   * Stores the end of the call, and removes the outcomes that it reports from the inbox. A result that reports none is
   * stored together with the next request, which waits for that, unless the call was stopped.
   */
  close(state: ToolState, blocked = false, isStopped = false) {
    return Effect.uninterruptible(Effect.suspend(() => {
      const { byUser, call, live, step } = this.options
      const reported = this.#reportedRuns
      const news = reported === undefined
        ? []
        : live.inbox.takeIf(({ runID }) => runID !== undefined && reported.has(runID))
      const charged = blocked ? charge(live, { ...none, blockedToolCalls: 1 }, this.now()) : []
      const ended: Array<Entry> = []
      if (byUser && step.message.info.role === "assistant") {
        const info = endSubtask(step.message.info, this.now())
        live.history.putMessage(info)
        ended.push({ _tag: "Message", info })
      }
      const taken = news.map(({ id, sessionID }): Entry => ({ _tag: "InboxTaken", id, sessionID, at: this.now() }))
      const { journal } = this.services
      const writes = [
        ...this.#turnInto({ ...this.#current, state: storable(wellFormed(state)) }),
        ...ended,
        ...taken,
        ...charged
      ]
      const over = Effect.suspend(() => {
        call.change("end")
        return reported === undefined ? Effect.void : disposeOf(live, reported)
      })
      if (!isStopped && reported === undefined) return Effect.zipRight(journal.owe(writes, live.info), over)
      return journal.commit(writes, live.info).pipe(
        Effect.tapError(() => Effect.sync(() => live.inbox.putBack(news))),
        Effect.zipRight(over)
      )
    }))
  }

  /** Stores that the call failed; `blocked` if it was not made at all. */
  fail(error: ErrorInfo, metadata?: Readonly<Record<string, unknown>>, blocked = false, isStopped = false) {
    return this.close(
      {
        status: "error",
        input: this.#input,
        error,
        ...(metadata === undefined ? {} : { metadata }),
        time: this.time()
      },
      blocked,
      isStopped
    )
  }

  /** When the call began, and that it ends now. */
  time(): { readonly start: number; readonly end: number } {
    const { state } = this.#current
    const end = this.now()
    return { start: state.status === "running" ? state.time.start : end, end }
  }

  #makeContext(): ToolContext {
    const { byUser, live, part, step, subject } = this.options
    const rules = this.services.permission.atHome(subject)
    return {
      ...callerOf(live, step.model, byUser),
      messageID: part.messageID,
      partID: part.id,
      callID: part.callID,
      readsOnly: readsOnly(subject),
      mode: subject.mode,
      reading: readingOf(rules),
      editing: editingOf(rules),
      deniesSome: deniesSome(subject),
      readAction: this.services.permission.readAction(subject),
      confirm: this.services.leases.renew(live.info.rootID),
      tells: (runs) =>
        Effect.sync(() => {
          this.#reportedRuns = new Set([...this.#reportedRuns ?? [], ...runs])
        }),
      ifCutOff: (end) =>
        Effect.sync(() => {
          this.#cutOff = end
        }),
      report: (update) =>
        Effect.sync(() => {
          const { state } = this.#current
          if (state.status !== "running") return
          const { metadata, ...rest } = wellFormed(update)
          const shown = metadata === undefined || metadataFault(metadata) !== undefined ? rest : { ...rest, metadata }
          this.#current = { ...this.#current, state: { ...state, ...shown } }
          live.history.putPart(step.message, this.#current)
          this.services.journal.report(live.info, this.#current, this.now())
        })
    }
  }
}
