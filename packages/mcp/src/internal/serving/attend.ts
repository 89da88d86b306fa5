/** Waits with a client for the end of a run: tells it how far that is, shows it what agents ask as forms, and takes its answers. */
import {
  type CallToolResult,
  type ElicitRequestFormParams,
  type ElicitResult,
  inputRequired,
  type InputRequiredResult,
  isSpecType
} from "@modelcontextprotocol/server"
import * as MonotonicClock from "@skein/core/MonotonicClock"
import { Permission } from "@skein/core/Permission"
import { Question } from "@skein/core/Question"
import type { StorageError } from "@skein/core/StorageError"
import { PermissionReply } from "@skein/domain/Event"
import type { NonEmptyReadonlyArray } from "effect/Array"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"
import * as Schema from "effect/Schema"
import { cleanLine, cleanText } from "../content.ts"
import type { Call } from "./Call.ts"
import type { Ask, Delegation, Ended } from "./Delegation.ts"

/** How much of a command, a diff or a question a form shows, in characters. */
const longest = 8_000

const shown = (text: string): string => {
  const clean = cleanText(text)
  return clean.length > longest ? `${clean.slice(0, longest)}\n[${clean.length - longest} more characters]` : clean
}

/** The command, the diff, or whatever else a question is about. */
const detailOf = (metadata: Readonly<Record<string, unknown>>): string =>
  ["command", "diff", "url", "path"].flatMap((key) => {
    const value = metadata[key]
    return typeof value === "string" && value !== "" ? [`${key}:\n${shown(value)}`] : []
  }).join("\n\n")

const whoOf = ({ path }: Ask): string => path.map((name) => cleanLine(name, 100)).join(" > ")

const permissionForm = (ask: Ask & { readonly type: "permission" }): ElicitRequestFormParams => {
  const { always, metadata, patterns, permission } = ask
  const detail = detailOf(metadata)
  const scope = always.map((pattern) => cleanLine(pattern, 200)).join(", ")
  return {
    mode: "form",
    message: [
      `${whoOf(ask)} asks for permission: ${cleanLine(permission, 100)}`,
      shown(patterns.join("\n")),
      ...(detail === "" ? [] : [detail])
    ].join("\n\n"),
    requestedSchema: {
      type: "object",
      properties: {
        answer: {
          type: "string",
          title: "Answer",
          oneOf: [
            { const: "once", title: "Allow once" },
            ...(always.length === 0 ? [] : [{ const: "always", title: `Allow always in these tasks: ${scope}` }]),
            { const: "reject", title: "Reject" }
          ]
        },
        message: { type: "string", title: "Reason of a rejection, which the agent reads" }
      },
      required: ["answer"]
    }
  }
}

const questionForm = (ask: Ask & { readonly type: "question" }): ElicitRequestFormParams => {
  const choices = ask.options.map(({ description, label }) => ({
    const: label,
    title: cleanLine(description === undefined ? label : `${label}: ${description}`, 300)
  }))
  const choice = ask.multiple
    ? { type: "array" as const, title: "Choices", items: { anyOf: choices } }
    : { type: "string" as const, title: "Choice", oneOf: choices }
  return {
    mode: "form",
    message: `${whoOf(ask)} asks:\n\n${shown(ask.question)}`,
    requestedSchema: {
      type: "object",
      properties: {
        ...(choices.length === 0 ? {} : { choice }),
        words: { type: "string", title: choices.length === 0 ? "Answer" : "Or other words" }
      }
    }
  }
}

/** The form of a question. */
export const formOf = (ask: Ask): ElicitRequestFormParams =>
  ask.type === "permission" ? permissionForm(ask) : questionForm(ask)

const PermissionAnswer = Schema.Struct({
  answer: PermissionReply,
  message: Schema.optionalWith(Schema.String, { default: () => "" })
})

const QuestionAnswer = Schema.Struct({
  choice: Schema.optionalWith(Schema.Union(Schema.String, Schema.Array(Schema.String)), { default: () => [] }),
  words: Schema.optionalWith(Schema.String, { default: () => "" })
})

const readPermission = Schema.decodeUnknownOption(PermissionAnswer)
const readQuestion = Schema.decodeUnknownOption(QuestionAnswer)

/** What a person answered; a form that was declined, left, or filled in wrongly permits nothing. */
const answerPermission = Effect.fnUntraced(
  function*({ id }: Ask & { readonly type: "permission" }, result: ElicitResult) {
    const permission = yield* Permission
    const read = result.action === "accept" ? readPermission(result.content) : undefined
    const { answer, message } = read?._tag === "Some" ? read.value : { answer: "reject" as const, message: "" }
    yield* permission.reply(id, answer, message.trim() === "" ? {} : { message: message.trim() })
  }
)

const answerQuestion = Effect.fnUntraced(function*({ id }: Ask & { readonly type: "question" }, result: ElicitResult) {
  const question = yield* Question
  const read = result.action === "accept" ? readQuestion(result.content) : undefined
  const { choice, words } = read?._tag === "Some" ? read.value : { choice: [], words: "" }
  const [first, ...others] = [...(typeof choice === "string" ? [choice] : choice), words.trim()].filter((each) =>
    each !== ""
  )
  yield* first === undefined ? question.dismiss(id) : question.reply(id, [first, ...others])
})

const isResult = (value: unknown): value is ElicitResult => isSpecType.ElicitResult(value)

/** Answers a question with what a client sent, which may be anything. Somebody else may have answered it meanwhile. */
const answer = (ask: Ask, sent: unknown): Effect.Effect<void, never, Permission | Question> => {
  const result: ElicitResult = isResult(sent) ? sent : { action: "cancel" }
  const answered: Effect.Effect<void, StorageError, Permission | Question> = ask.type === "permission"
    ? Effect.catchTag(answerPermission(ask, result), "PermissionNotFound", () => Effect.void)
    : Effect.catchTag(answerQuestion(ask, result), "QuestionNotFound", () => Effect.void)
  return Effect.catchAll(answered, (error) => Effect.logError("An answer could not be stored", error.message))
}

/** The runs that a call waits for. */
type Runs = NonEmptyReadonlyArray<Delegation>

/** A person may take a day, as for every question. */
const patience = 24 * 60 * 60_000

/** A text as the result of a call. */
export const textResult = (text: string, isError = false): CallToolResult => ({
  content: [{ type: "text", text }],
  ...(isError ? { isError } : {})
})

/** The end of a run as the result of a call. */
export const resultOf = (end: Ended): CallToolResult =>
  end.how === "settled" ? textResult(end.text, end.isError) : textResult("The task was cancelled.", true)

/** The ends of runs as the result of one call: an error where one of them is, and each says for itself how it ended. */
const resultOfAll = (ends: ReadonlyArray<Ended>): CallToolResult => {
  const results = ends.map(resultOf)
  const [only] = results
  if (results.length === 1 && only !== undefined) return only
  const content = results.flatMap(({ content: [first] }, at) =>
    first?.type === "text" ? [{ ...first, text: `Task ${at + 1} of ${results.length}\n${first.text}` }] : []
  )
  return { content, ...(results.some(({ isError }) => isError === true) ? { isError: true } : {}) }
}

/** Reports the progress of runs at each change, and now and then that they still run, until the scope closes. */
const tellProgress = Effect.fnUntraced(function*(runs: Runs, progress: (message: string) => void) {
  const began = yield* MonotonicClock.now
  const doing = () =>
    runs.length === 1 ? runs[0].doing() : runs.map((run, at) => `${at + 1}: ${run.doing()}`).join("; ")
  const tell = () => progress(doing())
  yield* Effect.forEach(runs, (run) => run.watch(tell))
  tell()
  yield* Effect.forkScoped(
    Effect.gen(function*() {
      const now = yield* MonotonicClock.now
      progress(`${doing()} (${Math.round((now - began) / 1_000)} s)`)
    }).pipe(Effect.delay("15 seconds"), Effect.repeat(Schedule.forever))
  )
})

/** Asks the client, as those of 2025 are asked: by a request of the server. What goes wrong there permits nothing. */
const askOne = (call: Call, ask: Ask) =>
  Effect.tryPromise((signal) => call.context.mcpReq.elicitInput(formOf(ask), { signal, timeout: patience })).pipe(
    Effect.tapError(({ error }) => Effect.logWarning("A client could not be asked", String(error))),
    Effect.orElseSucceed(() => undefined),
    // The answer itself withdraws the question: that must not cut it off.
    Effect.flatMap((result) => Effect.uninterruptible(answer(ask, result)))
  )

/** Asks all that the run asks, until its end. A question that somebody else answers is withdrawn. */
const askAll = (run: Delegation, call: Call): Effect.Effect<never, never, Permission | Question> =>
  Effect.scoped(Effect.gen(function*() {
    const asking = new Set<string>()
    return yield* Effect.forever(Effect.gen(function*() {
      yield* run.until((asks) => [...asks.keys()].some((id) => !asking.has(id)))
      for (const ask of run.asks.values()) {
        if (asking.has(ask.id)) continue
        asking.add(ask.id)
        yield* Effect.forkScoped(Effect.raceFirst(askOne(call, ask), run.until((asks) => !asks.has(ask.id))))
      }
    }))
  }))

const asksIn = (runs: ReadonlyArray<Delegation>) => runs.flatMap(({ asks }) => [...asks.values()])

/** All that runs ask, as the result of a call of 2026-07-28: its client sends the call again, with the answers. */
const asksOf = (runs: Runs): InputRequiredResult =>
  inputRequired({
    inputRequests: Object.fromEntries(asksIn(runs).map((ask) => [ask.id, inputRequired.elicit(formOf(ask))])),
    requestState: runs.map(({ id }) => id).join(" ")
  })

/** Waits for the end of runs, or until their client has to be asked. */
export const attend = (
  runs: Runs,
  call: Call
): Effect.Effect<CallToolResult | InputRequiredResult, never, Permission | Question> =>
  Effect.scoped(Effect.gen(function*() {
    const all = { concurrency: "unbounded" } as const
    yield* Effect.forEach(runs, (run) => run.attend)
    if (call.progress !== undefined) yield* tellProgress(runs, call.progress)
    const end = Effect.map(Effect.forEach(runs, ({ ended }) => Deferred.await(ended), all), resultOfAll)
    if (!call.isModern) {
      return yield* Effect.raceFirst(
        end,
        Effect.zipRight(Effect.forEach(runs, (run) => askAll(run, call), all), Effect.never)
      )
    }
    const asked = Effect.raceAll(runs.map((run) => run.until(({ size }) => size > 0)))
    return yield* Effect.raceFirst(end, Effect.map(asked, () => asksOf(runs)))
  }))

/** Answers what the client was asked, where it sends a call again. */
export const answerAll = (runs: ReadonlyArray<Delegation>, responses: Readonly<Record<string, unknown>>) =>
  Effect.forEach(
    asksIn(runs).filter(({ id }) => Object.hasOwn(responses, id)),
    (ask) => answer(ask, responses[ask.id]),
    { discard: true }
  )
