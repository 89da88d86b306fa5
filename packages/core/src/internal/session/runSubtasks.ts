/** The second thing at a step boundary: subagents that a prompt asks for by itself run without asking the model. */
import { Ids } from "@skein/domain/Id"
import type { AssistantMessage, UserMessage } from "@skein/domain/Message"
import { formatRef } from "@skein/domain/Model"
import type { SubtaskPart, ToolPart } from "@skein/domain/Part"
import { none } from "@skein/domain/Usage"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import { Agent } from "../../Agent.ts"
import { Governor } from "../../Governor.ts"
import { Journal } from "../../Journal.ts"
import type { Subject } from "../../Permission.ts"
import { candidates } from "./candidates.ts"
import { type Live, type LiveMessage, putMessage, putPart } from "./live.ts"
import type { Step } from "./modelStep.ts"
import { observedCall } from "./observedCall.ts"
import { sayToModel } from "./sayToModel.ts"
import { toolCall } from "./toolCall.ts"

/** What follows the results of a command, so that the model goes on with them. */
const goOn = "Summarize the task tool output above and continue with your task."

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
    path: { cwd: live.info.directory, root: live.info.directory },
    usage: none,
    finish: "tool-calls",
    time: { created: now, completed: now }
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
  const message = putMessage(live, info)
  putPart(message, tool)
  yield* journal.commit(
    [{ _tag: "Message", info }, { _tag: "Part", part: tool }],
    [
      journal.event(live.info, "message.updated", { info }, now),
      journal.event(live.info, "message.part.updated", { part: tool }, now)
    ]
  )
  const step: Step = { message, calls: [tool], finish: "tool-calls", model, offered: ["task"], last: false }
  return { step, tool }
}, Effect.uninterruptible)

/** Runs all subtasks of the messages at the same time; says whether the turn ends with them. A failure is a result. */
export const runSubtasks = Effect.fnUntraced(function*(
  live: Live,
  taken: ReadonlyArray<LiveMessage>,
  subject: Subject
) {
  const wanted = taken.flatMap(({ info, parts }) =>
    info.role === "user" ? parts.filter((part) => part.type === "subtask").map((part) => ({ user: info, part })) : []
  )
  const last = wanted.at(-1)
  if (last === undefined) return false
  const governor = yield* Governor
  const permits = yield* Effect.makeSemaphore(governor.callsAtOnce)
  const begun = yield* Effect.forEach(wanted, ({ part, user }) => begin(live, user, part))
  const results = yield* live.slot.calls(
    begun,
    ({ step, tool }, call) =>
      observedCall(
        { live, message: step.message, part: tool, wanted: undefined },
        toolCall({
          live,
          step,
          part: tool,
          subject,
          call,
          permits,
          wanted: undefined,
          byUser: true
        })
      )
  )
  if (wanted.some(({ part }) => part.command !== undefined)) yield* sayToModel(live, last.user, goOn)
  return results.some((result) => result.endsTurn)
})
