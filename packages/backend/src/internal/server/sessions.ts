/** The sessions of a server, as front ends see them. */
import type { Prompt } from "@skein/api/Input"
import type { SkeinClient } from "@skein/client/SkeinClient"
import type { SessionID } from "@skein/domain/Id"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import { randomUUID } from "node:crypto"
import type { BackendError } from "../../BackendError.ts"
import type { NewPrompt, Prompted, Sessions } from "../../Sessions.ts"
import { failure } from "./failure.ts"
import type { Link } from "./Link.ts"
import type { ServerWatching } from "./watch.ts"

const isBlank = (text: string | undefined): boolean => text === undefined || text.trim() === ""

/** The body of a prompt; undefined if the prompt is empty. */
const payloadOf = ({ command, parts = [], text, words = "", ...prompt }: NewPrompt): Prompt | undefined => {
  const { after, agent, budget, model, unattended } = prompt
  const answering = {
    ...(after === undefined ? {} : { after }),
    ...(agent === undefined ? {} : { agent }),
    ...(budget === undefined ? {} : { budget }),
    ...(model === undefined ? {} : { model }),
    ...(unattended === undefined ? {} : { unattended })
  }
  if (command !== undefined) return { ...answering, command, parts, ...(text === undefined ? {} : { text }) }
  if (!isBlank(words)) return { ...answering, words, parts, ...(text === undefined ? {} : { text }) }
  const [first, ...rest] = [...(text === undefined || isBlank(text) ? [] : [{ type: "text", text } as const]), ...parts]
  return first === undefined ? undefined : { ...answering, parts: [first, ...rest] }
}

const nothingSaid = failure("PromptInvalid", "The prompt is empty: give some text, a file, or a subtask.")

/** Waits for something, and then until all watchers have its events. */
type Settled = <A>(id: SessionID, effect: Effect.Effect<A, BackendError>) => Effect.Effect<A, BackendError>

type Request = Parameters<SkeinClient["sessions"]["prompt"]>[0] & { readonly withResponse?: false }

const makePrompt = ({ call }: Link, settled: Settled) =>
  Effect.fnUntraced(function*(id: SessionID, prompt: NewPrompt) {
    // A prompt with a key can be repeated if it is unknown whether it arrived.
    const key = prompt.key ?? randomUUID()
    const payload = payloadOf(prompt)
    if (payload === undefined) return yield* Effect.fail(nothingSaid)
    const accepted = yield* call("may be sent again", ({ sessions }) =>
      sessions.prompt(
        // The type demands a request for each kind of body, and this is one of them.
        { path: { id }, urlParams: {}, headers: { "idempotency-key": key }, payload } as Request
      ))
    const { messageID } = accepted
    return {
      messageID,
      notes: "notes" in accepted ? accepted.notes ?? [] : [],
      turn: settled(
        id,
        call("waits for a turn", ({ sessions }) =>
          sessions.turn({ path: { id, message: messageID }, urlParams: waiting(prompt) }))
      )
    } satisfies Prompted
  })

const waiting = ({ unattended: until }: Pick<NewPrompt, "unattended">) =>
  until === undefined ? {} : { unattended: "true" } as const

const cutOff = failure("ServerGone", "The connection to the server broke before all was exported. Export it again.")

type Reading = "list" | "get" | "ids" | "children" | "messages" | "archive"
type Working = "prompt" | "stop" | "resume" | "rest" | "summarized" | "leave"

const makeReading = (link: Link): Pick<Sessions, Reading> => ({
  list: (page) => link.call("may be sent again", ({ sessions }) => sessions.list({ urlParams: page })),
  get: (id) => link.call("may be sent again", ({ sessions }) => sessions.get({ path: { id } })),
  ids: (of, start, limit) =>
    link.call(
      "may be sent again",
      ({ server }) => Effect.map(server.ids({ urlParams: { of, start, limit } }), ({ items }) => items)
    ),
  children: (id, page) =>
    link.call("may be sent again", ({ sessions }) => sessions.children({ path: { id }, urlParams: page })),
  messages: (id, page) =>
    link.call("may be sent again", ({ sessions }) => sessions.messages({ path: { id }, urlParams: page })),
  archive: (id) =>
    Stream.unwrap(Effect.map(
      link.call("may be sent again", ({ exportTree }) => exportTree(id)),
      Stream.mapError(() => cutOff)
    ))
})

const makeChanging = ({ call }: Link): Omit<Sessions, Reading | Working> => ({
  create: (options) =>
    Effect.suspend(() => {
      const headers = { "idempotency-key": randomUUID() }
      return call("may be sent again", ({ sessions }) => sessions.create({ headers, payload: options }))
    }),
  rename: (id, title) =>
    call("may be sent again", ({ sessions }) => Effect.asVoid(sessions.change({ path: { id }, payload: { title } }))),
  remove: (id) => call("may be sent again", ({ sessions }) => sessions.remove({ path: { id } })),
  fork: (id, messageID) =>
    Effect.suspend(() => {
      const headers = { "idempotency-key": randomUUID() }
      const payload = messageID === undefined ? {} : { messageID }
      return call("may be sent again", ({ sessions }) => sessions.fork({ path: { id }, headers, payload }))
    }),
  compact: (id) =>
    Effect.suspend(() => {
      const headers = { "idempotency-key": randomUUID() }
      return call("may be sent again", ({ sessions }) => sessions.compact({ path: { id }, headers }))
    }),
  summarize: (id) =>
    Effect.suspend(() => {
      const headers = { "idempotency-key": randomUUID() }
      return call("may be sent again", ({ sessions }) => sessions.summarize({ path: { id }, headers }))
    }),
  withdraw: (id, message) => call("is sent once", ({ sessions }) => sessions.withdraw({ path: { id, message } })),
  setMode: (id, mode) =>
    call(
      "may be sent again",
      ({ sessions }) =>
        Effect.flatMap(sessions.change({ path: { id }, payload: { mode } }), ({ rootID }) =>
          sessions.get({ path: { id: rootID } }))
    )
})

const makeWorking = ({ caughtUp }: ServerWatching, link: Link): Pick<Sessions, Working> => {
  const { call } = link
  const settled: Settled = (id, effect) => Effect.onExit(effect, () => caughtUp(id))
  const prompt = makePrompt(link, settled)
  /** Sessions with unattended prompts. They are unattended while they come to rest, too. */
  const alone = new Set<SessionID>()
  return {
    prompt: (id, asked) =>
      Effect.suspend(() => {
        if (asked.unattended === "tree") alone.add(id)
        else alone.delete(id)
        return prompt(id, asked)
      }),
    stop: (id, by) =>
      settled(
        id,
        call("may be sent again", ({ sessions }) =>
          sessions.interrupt({ path: { id }, urlParams: by === undefined ? {} : { by } }))
      ),
    resume: (id) => call("may be sent again", ({ sessions }) => sessions.resume({ path: { id } })),
    rest: (id) =>
      settled(
        id,
        call("waits for a turn", ({ sessions }) =>
          Effect.map(
            sessions.rest({ path: { id }, urlParams: alone.has(id) ? { unattended: "true" } : {} }),
            ({ turn }) => turn
          ))
      ),
    // The server continues both.
    summarized: () => Effect.void,
    leave: () => Effect.succeed([])
  }
}

/** Makes them. */
export const makeSessions = (watching: ServerWatching, link: Link): Sessions => ({
  ...makeReading(link),
  ...makeChanging(link),
  ...makeWorking(watching, link)
})
