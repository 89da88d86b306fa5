/** Continues a turn that a crash interrupted: it closes the open calls first, and repeats nothing. */
import type { AssistantMessage } from "@skein/domain/Message"
import type { ToolPart } from "@skein/domain/Part"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import { Config } from "../../Config.ts"
import { Journal } from "../../Journal.ts"
import { SessionStorage } from "../../SessionStorage.ts"
import type { TurnEnd } from "../../Turn.ts"
import { offer, subjectOf } from "../calls/offer.ts"
import { toolCalls } from "../calls/toolCalls.ts"
import { endAnswers, endCall, isOfUser } from "../conversation/closeTurn.ts"
import { answerIn, type StructuredOutput } from "../conversation/structuredOutput.ts"
import type { LiveMessage } from "../live/History.ts"
import { type Live, setStatus } from "../live/Live.ts"
import type { Step } from "../model/Step.ts"
import { askForAnswer } from "./checkAnswer.ts"
import { runSubtasks } from "./runSubtasks.ts"
import { consentsOf } from "./takeInbox.ts"

/** A resumed turn. */
interface Resumed {
  /** Where its messages begin. */
  readonly from: number
  /** How many steps it has made. */
  readonly steps: number
  /** How it ended, if it had ended before the crash. */
  readonly end: TurnEnd | undefined
}

type Answer = LiveMessage & { readonly info: AssistantMessage }

const isAnswer = (message: LiveMessage): message is Answer => message.info.role === "assistant"

const isOpen = (part: ToolPart): boolean => part.state.status === "pending" || part.state.status === "running"

const callsIn = ({ parts }: LiveMessage): ReadonlyArray<ToolPart> => parts.filter((part) => part.type === "tool")

/** An incomplete answer does not count. Recovery has ended what a dead process left; this one's may not have been stored. */
const endBroken = Effect.fnUntraced(function*(live: Live, messages: ReadonlyArray<LiveMessage>) {
  const writes = endAnswers(live, messages, yield* Clock.currentTimeMillis)
  if (writes.length > 0) yield* (yield* Journal).commit(writes, live.info)
})

/**
 * Ends the open calls of an answer with more calls than the limit: an older version stored it, or the limit is lower
 * now. A call whose task runs already waits for that task as before.
 */
const endExcess = Effect.fnUntraced(function*(live: Live, messages: ReadonlyArray<LiveMessage>) {
  const { settings: { limits: { answer: { calls: most } } } } = yield* Config
  const long = messages.filter((message) => isAnswer(message) && callsIn(message).filter(isOpen).length > most)
  if (long.length === 0) return
  const now = yield* Clock.currentTimeMillis
  const { rows } = yield* (yield* SessionStorage).runs({ parentID: live.info.id })
  const waiting = new Set(rows.map(({ partID }) => partID))
  const parts = long.flatMap((message) => {
    const open = callsIn(message).filter(isOpen)
    const why = `The answer has ${open.length} open calls, and at most ${most} are allowed (limits.answer.calls).`
    return open.filter(({ id }) => !waiting.has(id)).map((part) => {
      const ended = endCall(part, false, now, why)
      live.history.putPart(message, ended)
      return ended
    })
  })
  yield* (yield* Journal).commit(parts.map((part) => ({ _tag: "Part", part }) as const), live.info)
})

/** A step as it was when its calls were requested. */
const stepOf = Effect.fnUntraced(
  function*(live: Live, message: Answer, structuredOutput: StructuredOutput | undefined) {
    const { finish = "tool-calls", modelID, providerID } = message.info
    const model = { providerID, modelID }
    const tools = yield* offer(live, yield* subjectOf(live), model, true)
    const offered = [
      ...tools.map(({ name }) => name),
      ...(structuredOutput === undefined ? [] : [structuredOutput.tool.name])
    ]
    const step: Step = {
      message,
      calls: callsIn(message).filter(isOpen),
      finish,
      model,
      offered,
      last: false,
      cutBy: undefined
    }
    return step
  }
)

/** How a turn without open calls ended; undefined if the model must still be asked. */
const endOf = (live: Live, from: number, structuredOutput: StructuredOutput | undefined): TurnEnd | undefined => {
  const last = (live.messages ?? []).slice(from).at(-1)
  if (last === undefined || !isAnswer(last)) return undefined
  if (last.info.error?.tag === "steps") return "steps"
  if (last.info.error !== undefined || last.info.finish === "pause") return undefined
  const calls = callsIn(last)
  if (calls.some(({ state }) => state.status !== "pending" && state.metadata?.["endsTurn"] === true)) return "denied"
  if (calls.some((part) => answerIn(part) !== undefined)) return "completed"
  return calls.length === 0 && structuredOutput === undefined ? "completed" : undefined
}

/** How many steps a turn has made. */
const stepsIn = (messages: ReadonlyArray<LiveMessage>): number =>
  messages.filter((each) => isAnswer(each) && !isOfUser(each) && each.info.error === undefined).length

/** Ends what is open in the turn as far as possible without asking its model. */
export const resumeTurn = Effect.fnUntraced(function*(live: Live, structuredOutput: StructuredOutput | undefined) {
  const storage = yield* SessionStorage
  const { turn } = live.info
  if (turn?.leftAlone === true) {
    const { leftAlone: _, ...rest } = turn
    yield* (yield* Journal).commit([live.record.annotate({ turn: rest })], live.info)
  }
  const messages = live.messages ?? []
  const first = messages.findIndex(({ info }) => info.id === turn?.first)
  const from = first < 0 ? messages.length : first
  // While calls of its last step continue, it is still in that step.
  yield* setStatus(live, { type: "busy", step: stepsIn(messages.slice(from)) })
  yield* endBroken(live, messages.slice(from))
  yield* endExcess(live, messages.slice(from))
  const users = messages.slice(from).filter(({ info }) => info.role === "user")
  for (const { info, parts } of users) {
    live.tasks.consent(consentsOf(parts, live.parent === undefined && !("from" in info)))
  }
  if (live.parent === undefined) {
    const { rows } = yield* storage.runs({ rootID: live.info.id })
    live.tasks.spawns = rows.filter(({ time }) => time.created >= (turn?.began ?? 0)).length
  }
  const resumed = { from, steps: stepsIn(messages.slice(from)) }
  let denied = yield* runSubtasks(live, users, yield* subjectOf(live))
  for (const message of messages.slice(from).filter(isAnswer)) {
    if (!callsIn(message).some(isOpen)) continue
    const step = yield* stepOf(live, message, structuredOutput)
    denied = (yield* toolCalls(live, step, yield* subjectOf(live), structuredOutput, true)) || denied
  }
  const end = denied
    ? "denied"
    : structuredOutput?.answer === undefined
    ? endOf(live, from, structuredOutput)
    : "completed"
  const last = messages.at(-1)
  const user = users.at(-1)?.info
  // Plain text is no structured output, and the model does not continue after its own answer.
  const isInWords = last !== undefined && isAnswer(last) && last.info.error === undefined && callsIn(last).length === 0
  if (end === undefined && isInWords && user?.role === "user") yield* askForAnswer(live, user)
  return { ...resumed, end } satisfies Resumed
})
