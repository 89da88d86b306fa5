/** The second thing at a step boundary: subtask parts of a prompt run without asking the model. */
import { Ids } from "@skein/domain/Id"
import type { AssistantMessage, UserMessage } from "@skein/domain/Message"
import { formatRef } from "@skein/domain/Model"
import type { SubtaskPart, ToolPart } from "@skein/domain/Part"
import { pathOf } from "@skein/domain/SessionInfo"
import { none } from "@skein/domain/Usage"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import { Agent } from "../../Agent.ts"
import { Journal } from "../../Journal.ts"
import type { Subject } from "../../Permission.ts"
import { makeCalls } from "../calls/toolCalls.ts"
import { isOfUser } from "../conversation/closeTurn.ts"
import { sayToModel } from "../conversation/sayToModel.ts"
import type { LiveMessage } from "../live/History.ts"
import type { Live } from "../live/Live.ts"
import { candidates } from "../model/candidates.ts"
import type { Step } from "../model/Step.ts"

/** Follows the results of a command, so that the model continues with them. */
const continueText = "Summarize the task tool output above and continue with your task."

const argumentsOf = (part: SubtaskPart) => ({
  prompt: part.prompt,
  description: part.description,
  subagent_type: part.agent,
  ...(part.command === undefined ? {} : { command: part.command }),
  ...(part.model === undefined ? {} : { model: formatRef(part.model) })
})

/** An assistant message as if a model had asked for the task. */
const begin = Effect.fnUntraced(function*(live: Live, user: UserMessage, part: SubtaskPart) {
  const ids = yield* Ids
  const journal = yield* Journal
  const agents = yield* Agent
  const now = yield* Clock.currentTimeMillis
  const [ref] = part.model === undefined ? yield* candidates(live, yield* agents.get(live.info.agent)) : [part.model]
  const model = ref ?? { providerID: "", modelID: "" }
  const info: AssistantMessage = {
    id: yield* ids.make("msg"),
    sessionID: live.info.id,
    role: "assistant",
    parentID: user.id,
    agent: part.agent,
    ...model,
    path: pathOf(live.info),
    usage: none,
    time: { created: now }
  }
  const callID = yield* ids.make("prt")
  const tool: ToolPart = {
    id: callID,
    sessionID: live.info.id,
    messageID: info.id,
    type: "tool",
    callID,
    tool: "task",
    state: { status: "pending", input: JSON.stringify(argumentsOf(part)) }
  }
  const message = live.history.putMessage(info)
  live.history.putPart(message, tool)
  yield* journal.commit(
    [{ _tag: "Message", info }, { _tag: "Part", part: tool }],
    live.info
  )
  const step: Step = {
    message,
    calls: [tool],
    finish: "tool-calls",
    model,
    offered: ["task"],
    last: false,
    cutBy: undefined
  }
  return { step, tool }
}, Effect.uninterruptible)

/** What a crash left of a message's subtasks: the answers that began, in the order of its parts. */
const begunBefore = (live: Live, user: UserMessage): ReadonlyArray<LiveMessage> =>
  (live.messages ?? []).filter((message) =>
    message.info.role === "assistant" && message.info.parentID === user.id && isOfUser(message)
  )

const stepOf = (message: LiveMessage): { readonly step: Step; readonly tool: ToolPart } | undefined => {
  const [tool] = message.parts
  if (message.info.role === "user" || tool?.type !== "tool") return undefined
  const { modelID, providerID } = message.info
  const model = { providerID, modelID }
  return {
    tool,
    step: { message, calls: [tool], finish: "tool-calls", model, offered: ["task"], last: false, cutBy: undefined }
  }
}

const isOpen = ({ state }: ToolPart): boolean => state.status === "pending" || state.status === "running"

const isContinueText = ({ info, parts }: LiveMessage): boolean =>
  info.role === "user" && parts.some((part) => part.type === "text" && part.text === continueText)

/** Only the next model reads the result of a subtask, so the log says which of them failed, and why. */
const logFailure = ({ step, tool }: { readonly step: Step; readonly tool: ToolPart }) => {
  const part = step.message.parts.find(({ id }) => id === tool.id)
  if (!isOpen(tool) || part?.type !== "tool" || part.state.status !== "error") return Effect.void
  const { error, input } = part.state
  const asked: Record<string, unknown> = typeof input === "object" && input !== null ? { ...input } : {}
  return Effect.annotateLogs(Effect.logWarning("subtask execution failed", error.message), {
    agent: asked["subagent_type"],
    description: asked["description"]
  })
}

/** Whether messages have subtasks. */
export const hasSubtasks = (taken: ReadonlyArray<LiveMessage>): boolean =>
  taken.some(({ info, parts }) => info.role === "user" && parts.some(({ type }) => type === "subtask"))

/** Runs all subtasks of the messages in parallel; returns whether the turn ends with them. A failure is a result. */
export const runSubtasks = Effect.fnUntraced(function*(
  live: Live,
  taken: ReadonlyArray<LiveMessage>,
  subject: Subject
) {
  const subtasks = taken.flatMap(({ info, parts }) =>
    info.role === "user" ? parts.filter((part) => part.type === "subtask").map((part) => ({ user: info, part })) : []
  )
  const last = subtasks.at(-1)
  if (last === undefined) return false
  const known = new Map(subtasks.map(({ user }) => [user, [...begunBefore(live, user)]]))
  const begun = yield* Effect.forEach(subtasks, ({ part, user }) => {
    const before = known.get(user)?.shift()
    const step = before === undefined ? undefined : stepOf(before)
    return step === undefined ? begin(live, user, part) : Effect.succeed(step)
  })
  const open = begun.filter(({ tool }) => isOpen(tool))
  const making = open.map(({ step, tool: part }) => ({ step, part, resumes: part.state.status === "running" }))
  const endsTurn = yield* makeCalls(live, subject, making, undefined, true)
  yield* Effect.forEach(begun, logFailure, { discard: true })
  const after = (live.messages ?? []).slice((live.messages ?? []).findIndex(({ info }) => info.id === last.user.id))
  if (subtasks.some(({ part }) => part.command !== undefined) && !after.some(isContinueText)) {
    yield* sayToModel(live, last.user, continueText)
  }
  return endsTurn
})
