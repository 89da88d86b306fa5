/** Follows a server's task to its end: shows its status, answers its questions, and reads its result once. */
import { type CallToolResult, type Client, isSpecType, specTypeSchemas } from "@modelcontextprotocol/client"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Schema from "effect/Schema"
import { pathToFileURL } from "node:url"
import type { Asker } from "./elicit.ts"
import { ServerFailed, wordsOf } from "./failure.ts"
import { pauseOf, Task, taskOf } from "./serverTask.ts"

/** How long a server may take for one answer about a task, in milliseconds. */
const patience = 30_000

/** How long it may take for the result of a task, in milliseconds: a server of 2025-11-25 answers when the task has ended. */
const forever = 7 * 86_400_000

/** How long to wait for the answer to a cancellation, in milliseconds. */
const farewell = 1_000

/** How often in a row a question about a task may fail before it is given up. */
const tries = 3

/** The message for a task that the server does not know, or no longer describes. */
const unknown = "the outcome of its task is unknown"

/** A task, and who wants to know of it. */
interface Followed {
  readonly client: Client
  readonly task: Task
  /** The directory of the project. */
  readonly directory: string
  /** Asks a person what the server wants to know. */
  readonly ask: Asker["ask"]
  /** Hears what the server says of it, each time that this has changed. */
  readonly onChange: (task: Task) => void
  /** Ends when it is to be followed no longer, and says why. */
  readonly givenUp: Effect.Effect<never, ServerFailed>
}

const answer = Schema.standardSchemaV1(Task)
const anything = Schema.standardSchemaV1(Schema.Unknown)

const failed = (cause: unknown) => new ServerFailed({ message: wordsOf(cause) })

/** Asks the server to end a task; it is not waited for long, and need not agree. */
export const cancelTask = (client: Client, taskId: string): Effect.Effect<void> =>
  Effect.promise(() =>
    client.request({ method: "tasks/cancel", params: { taskId } }, anything, { timeout: farewell }).then(
      () => undefined,
      () => undefined
    )
  )

const isEarlier = (client: Client): boolean => client.getProtocolEra() !== "modern"

const look = ({ client, task: { taskId } }: Followed) =>
  Effect.tryPromise({
    try: (signal) => client.request({ method: "tasks/get", params: { taskId } }, answer, { signal, timeout: patience }),
    catch: failed
  }).pipe(
    Effect.filterOrFail(
      (found) => found.taskId === taskId,
      () => new ServerFailed({ message: "it answered about another task" })
    )
  )

/** The result of a server of 2025-11-25, which waits with it until the task has ended. */
const fetchResult = ({ client, task: { taskId } }: Followed) =>
  Effect.tryPromise({
    try: (signal) =>
      client.request({ method: "tasks/result", params: { taskId } }, specTypeSchemas.CallToolResult, {
        signal,
        timeout: forever
      }),
    catch: failed
  })

/** The result in a description by the extension. */
const resultIn = ({ result }: Task): Effect.Effect<CallToolResult, ServerFailed> => {
  const read = specTypeSchemas.CallToolResult["~standard"].validate(result)
  return read.issues === undefined
    ? Effect.succeed(read.value)
    : new ServerFailed({ message: "its task ended with an invalid result" })
}

/** What a server is answered that asks by the extension. */
const respond = ({ ask, directory }: Followed, request: unknown): Effect.Effect<unknown, ServerFailed> =>
  isSpecType.ElicitRequest(request)
    ? Effect.tryPromise({ try: () => ask(request.params), catch: failed })
    : isSpecType.ListRootsRequest(request)
    ? Effect.succeed({ roots: [{ uri: pathToFileURL(directory).href, name: "project" }] })
    : new ServerFailed({ message: "its task asks for something that Skein does not do" })

/** Answers what was not answered before. */
const respondAll = Effect.fnUntraced(function*(followed: Followed, task: Task, answered: Set<string>) {
  const asked = Object.entries(task.inputRequests ?? {}).filter(([id]) => !answered.has(id))
  if (asked.length === 0) return
  const inputResponses = yield* Effect.forEach(
    asked,
    ([id, request]) => Effect.map(respond(followed, request), (response) => [id, response] as const)
  )
  for (const [id] of asked) answered.add(id)
  yield* Effect.tryPromise({
    try: (signal) =>
      followed.client.request(
        {
          method: "tasks/update",
          params: { taskId: task.taskId, inputResponses: Object.fromEntries(inputResponses) }
        },
        anything,
        { signal, timeout: patience }
      ),
    catch: failed
  })
})

const whySoOf = ({ error, status, statusMessage }: Task): string => {
  const why = error?.message ?? statusMessage
  return `its task ${status === "failed" ? "failed" : "was cancelled by the server"}${
    why === undefined ? "" : `: ${why}`
  }`
}

const isOver = ({ status }: Task): boolean => status !== "working" && status !== "input_required"

/** Asks again and again until the task has ended; ends with how it was described then. */
const watched = (followed: Followed, from: Task, each: (task: Task) => Effect.Effect<void, ServerFailed>) =>
  Effect.gen(function*() {
    let task = from
    let said = ""
    for (;;) {
      const now = JSON.stringify([task.status, task.statusMessage, task.lastUpdatedAt])
      if (now !== said) followed.onChange(task)
      said = now
      if (isOver(task)) return task
      yield* each(task)
      yield* Effect.sleep(pauseOf(task))
      task = yield* Effect.retry(look(followed), { times: tries - 1 }).pipe(
        Effect.mapError(({ message }) => new ServerFailed({ message: `${unknown}: ${message}` }))
      )
    }
  })

/** By the extension, a task itself has its questions and its outcome. */
const byExtension = (followed: Followed) =>
  Effect.gen(function*() {
    const answered = new Set<string>()
    const task = yield* watched(
      followed,
      followed.task,
      (now) => now.status === "input_required" ? respondAll(followed, now, answered) : Effect.void
    )
    return task.status === "completed" ? yield* resultIn(task) : yield* new ServerFailed({ message: whySoOf(task) })
  })

/** By 2025-11-25, a request for the result waits for it. What the server asks meanwhile comes while that request waits. */
const byEarlier = (followed: Followed) =>
  Effect.gen(function*() {
    const asks = new ServerFailed({ message: "input_required" })
    const task = yield* watched(
      followed,
      followed.task,
      ({ status }) => status === "input_required" ? asks : Effect.void
    ).pipe(Effect.catchIf((error) => error === asks, () => Effect.succeed(undefined)))
    if (task?.status === "cancelled") return yield* new ServerFailed({ message: whySoOf(task) })
    if (task !== undefined) return yield* fetchResult(followed)
    const rest = Effect.zipRight(watched(followed, followed.task, () => Effect.void), Effect.never)
    return yield* Effect.raceFirst(fetchResult(followed), rest)
  })

/**
 * Ends a task that a call has made just when it was interrupted. The call has been aborted, so this is known at once.
 */
export const abandonTask = (client: Client, call: Promise<CallToolResult>): Effect.Effect<void> =>
  Effect.flatMap(
    Effect.promise(() => call.then(taskOf, () => undefined)),
    (task) => task !== undefined && Either.isRight(task) ? cancelTask(client, task.right.taskId) : Effect.void
  )

/** Follows it. A task that has not ended when this is interrupted, given up or fails is cancelled. */
export const followTask = (followed: Followed): Effect.Effect<CallToolResult, ServerFailed> =>
  Effect.suspend(() => {
    const { client, givenUp, task } = followed
    let hasEnded = false
    const seen: Followed = {
      ...followed,
      onChange: (now) => {
        hasEnded = isOver(now)
        followed.onChange(now)
      }
    }
    const outcome = isEarlier(client) ? byEarlier(seen) : byExtension(seen)
    // The caller may not be interruptible, so that no task is lost between its answer and here.
    return Effect.onExit(
      Effect.interruptible(Effect.raceFirst(outcome, givenUp)),
      ({ _tag }) => _tag === "Success" || hasEnded ? Effect.void : cancelTask(client, task.taskId)
    )
  })
