/** The first thing at a step boundary: the inbox becomes part of the history. */
import { Ids, type MessageID } from "@skein/domain/Id"
import type { InboxRow } from "@skein/domain/InboxRow"
import type { UserMessage } from "@skein/domain/Message"
import type { Part, PartInput } from "@skein/domain/Part"
import * as Clock from "effect/Clock"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import { failpoint } from "../../Failpoints.ts"
import { Journal } from "../../Journal.ts"
import type { Entry } from "../../Write.ts"
import { makeStructuredOutput, type StructuredOutput } from "../conversation/structuredOutput.ts"
import type { LiveMessage } from "../live/History.ts"
import { noLongerWaiting } from "../live/Inbox.ts"
import type { Live } from "../live/Live.ts"
import { switchAgent } from "../live/mode.ts"
import { disposeOf } from "../live/stop.ts"
import { advance } from "../live/TaskList.ts"
import { modelsToKeep } from "../model/candidates.ts"
import { initRequest } from "../prompts.ts"

/** Defined keys only: a stored message does not carry `undefined`. */
const settings = ({ from, model, system, tools, variant }: InboxRow) => ({
  ...(from === undefined ? {} : { from }),
  ...(model === undefined ? {} : { model }),
  ...(variant === undefined ? {} : { variant }),
  ...(system === undefined ? {} : { system }),
  ...(tools === undefined ? {} : { tools })
})

/** The message of a row. */
const messageOf = (live: Live, row: InboxRow, id: MessageID): UserMessage => ({
  id,
  sessionID: live.info.id,
  role: "user",
  agent: row.agent ?? live.info.agent,
  ...(id === row.id ? {} : { promptID: row.id }),
  ...settings(row),
  time: { created: row.time.created }
})

/** The parts of a prompt with their ids. */
const partsOf = (
  ids: Context.Tag.Service<typeof Ids>,
  message: UserMessage,
  inputs: ReadonlyArray<PartInput>,
  now: number
) =>
  inputs.map((input): Part => ({
    ...input,
    id: ids.unsafeMake("prt", now),
    sessionID: message.sessionID,
    messageID: message.id
  }))

/** The subagents that a prompt names, and `/init` if a person asks for the instructions of the project. */
export const consentsOf = (parts: ReadonlyArray<PartInput | Part>, byPerson: boolean): ReadonlyArray<string> =>
  parts.flatMap((part) =>
    part.type === "agent" ? [part.name] : part.type === "subtask" ? [part.agent] : byPerson && asksForInstructions(part)
      ? ["/init"]
      : []
  )

const asksForInstructions = (part: PartInput | Part): boolean =>
  part.type === "text" && part.synthetic !== true && part.text.startsWith(initRequest)

/** What was taken: the new messages, and the structured output that one of them asks for. */
interface Taken {
  readonly messages: ReadonlyArray<LiveMessage>
  readonly structuredOutput: StructuredOutput | undefined
}

/**
 * Takes the inbox in order of arrival. Ids determine the order of messages, so a row that arrived while a younger
 * message was made gets a new id: it is read after that message.
 */
export const takeInbox = (live: Live, begins: boolean) =>
  live.inbox.rows.length === 0 ? Effect.succeed(nothing) : take(live, begins)

const nothing: Taken = { messages: [], structuredOutput: undefined }

/**
 * The start of the run whose prompt this is, unless it is being stored already: recovery tells by it whether the prompt
 * was given.
 */
const startOf = ({ tasks: { queue: [run] } }: Live, rows: ReadonlyArray<InboxRow>): ReadonlyArray<Entry> => {
  if (run?.state !== "running") return []
  if (rows.every(({ from, kind }) => kind !== "prompt" || from !== "agent")) return []
  advance(run, "store")
  return [{ _tag: "Run", run: run.row }]
}

const take = Effect.fnUntraced(function*(live: Live, begins: boolean) {
  const rows = live.inbox.take(begins)
  const messages: Array<LiveMessage> = []
  const form = rows.map(({ id }) => live.inbox.formOf(id)).find((each) => each !== undefined)
  const structuredOutput = form === undefined ? undefined : makeStructuredOutput(form)
  const taken: Taken = { messages, structuredOutput }
  if (rows.length === 0) return taken
  const journal = yield* Journal
  const ids = yield* Ids
  const now = yield* Clock.currentTimeMillis
  const writes: Array<Entry> = []
  for (const row of rows) {
    const last = live.messages?.at(-1)?.info.id
    const info = messageOf(live, row, last === undefined || last < row.id ? row.id : ids.unsafeMake("msg", now))
    const parts = partsOf(ids, info, row.parts, now)
    const message = live.history.putMessage(info)
    for (const part of parts) live.history.putPart(message, part)
    messages.push(message)
    if (row.kind === "prompt") {
      live.tasks.consent(consentsOf(row.parts, live.parent === undefined && row.from === undefined))
    }
    writes.push({ _tag: "Message", info })
    for (const part of parts) writes.push({ _tag: "Part", part })
    writes.push({ _tag: "InboxTaken", id: row.id, sessionID: live.info.id, at: now })
    const switched = {
      ...(row.agent === undefined ? {} : switchAgent(live.info, row.agent)),
      ...(row.model === undefined ? {} : { model: row.model })
    }
    if (Object.keys(switched).length > 0) writes.push(live.record.change(now, switched))
  }
  const [first] = messages
  const begun = begins && first !== undefined
    ? { began: now, first: first.info.id, stops: live.stops.all }
    : rows.some(({ model }) => model !== undefined)
    ? live.info.turn
    : undefined
  if (begun !== undefined) {
    writes.push(live.record.change(now, { turn: { ...begun, ...(yield* modelsToKeep(live)) } }))
  }
  const start = startOf(live, rows)
  const told = noLongerWaiting(journal, live, rows.map(({ id }) => id))
  if (rows.some(({ kind }) => kind === "notification")) yield* failpoint("wake_sent_before_mark")
  yield* Effect.tapError(
    journal.commit([...writes, ...start, ...told], live.info),
    () => Effect.sync(() => live.inbox.putBack(rows))
  )
  yield* disposeOf(live, rows.flatMap(({ runID }) => runID === undefined ? [] : [runID]))
  return taken
  // A stop in the middle would leave unstored messages in memory.
}, Effect.uninterruptible)
