/**
 * Asks all runners what each of them knows alone: the questions that wait for a person. Shown are those of trees that the
 * runner works in, each once: another program that listens where a runner was could otherwise list the question of another
 * tree with a text of its own. An answer goes to the runner that asks, while its tree may move from one to another.
 */
import { keyCursor, pageOf, usualPage } from "@skein/core/Page"
import { askKey, findSession } from "@skein/core/SessionLookup"
import { SessionStorage } from "@skein/core/SessionStorage"
import type { StorageError } from "@skein/core/StorageError"
import type { Event } from "@skein/domain/Event"
import type { SessionID } from "@skein/domain/Id"
import { PendingAsk } from "@skein/domain/TreeSnapshot"
import * as Arr from "effect/Array"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import type { IncomingMessage, ServerResponse } from "node:http"
import type { Cluster } from "../Cluster.ts"
import { type Answer, exchange } from "./exchange.ts"
import { readBody, refuse, type Sent, sentOf } from "./requests.ts"

const types = ["permission.asked", "permission.replied", "question.asked", "question.replied"] as const

const isOf = (id: string) => (event: Event): boolean => "id" in event.properties && event.properties.id === id

/** Whether a tree has asked the question with this id. */
const isAskedIn = (rootID: SessionID, id: string): Effect.Effect<boolean, StorageError, SessionStorage> =>
  Effect.gen(function*() {
    const storage = yield* SessionStorage
    const logged = yield* storage.events({ after: 0, rootID, types })
    return logged.some(({ event }) => event.type.endsWith(".asked") && isOf(id)(event))
  })

/** An answer as clients give it, whichever kind of question it is for. */
const StoredAnswer = Schema.parseJson(Schema.Struct({
  answer: Schema.optional(Schema.String),
  answers: Schema.optional(Schema.Array(Schema.String)),
  dismiss: Schema.optional(Schema.Boolean)
}))

const decodeStored = Schema.decodeUnknownOption(StoredAnswer)

/** Whether a stored answer is the one in the body of a request. `always` may have been stored as `once`. */
const isGivenIn = (body: string) => (event: Event): boolean => {
  const given = Option.getOrUndefined(decodeStored(body))
  if (given === undefined) return false
  if (event.type === "permission.replied") {
    const { reply, withdrawn } = event.properties
    return withdrawn !== true && (reply === given.answer || (given.answer === "always" && reply === "once"))
  }
  if (event.type !== "question.replied") return false
  const { answers, reply } = event.properties
  return given.dismiss === true
    ? reply === "dismissed"
    : reply === "answered" && JSON.stringify(answers) === JSON.stringify(given.answers)
}

/** The state of a question: `taken` if it has another answer than the given one. */
type AskState = "open" | "answered" | "taken"

/** The state of the question with this id for an answer, if a tree with unfinished work has asked it. */
export const askState = (
  id: string,
  body: string
): Effect.Effect<AskState | undefined, StorageError, SessionStorage> =>
  Effect.gen(function*() {
    const storage = yield* SessionStorage
    for (const rootID of yield* storage.unfinished) {
      const logged = yield* storage.events({ after: 0, rootID, types })
      const last = logged.map(({ event }) => event).filter(isOf(id)).at(-1)
      if (last === undefined) continue
      if (last.type.endsWith(".asked")) return "open"
      return isGivenIn(body)(last) ? "answered" : "taken"
    }
    return undefined
  })

/** What a runner lists. */
export interface Listed {
  readonly target: string
  readonly items: ReadonlyArray<unknown>
}

interface Held {
  readonly id: string
  readonly rootID: SessionID
  readonly item: unknown
}

const decodeAsk = Schema.decodeUnknownOption(PendingAsk)

const rootOf = (sessionID: SessionID) =>
  findSession(sessionID).pipe(
    Effect.map(({ rootID }) => Option.some(rootID)),
    Effect.catchTag("SessionNotFound", () => Effect.succeedNone)
  )

/** The questions of one runner whose trees it holds. */
const heldBy = Effect.fnUntraced(function*(cluster: Pick<typeof Cluster.Service, "holder">, { items, target }: Listed) {
  const holders = new Map<SessionID, string | undefined>()
  const held: Array<Held> = []
  for (const item of items) {
    const ask = Option.getOrUndefined(decodeAsk(item))
    const rootID = ask === undefined ? undefined : Option.getOrUndefined(yield* rootOf(ask.sessionID))
    if (ask === undefined || rootID === undefined || ask.rootID !== rootID) continue
    if (!holders.has(rootID)) holders.set(rootID, yield* cluster.holder(rootID))
    if (holders.get(rootID) === target) held.push({ id: ask.id, rootID, item })
  }
  return held
})

const idOf = (item: unknown): string | undefined =>
  typeof item === "object" && item !== null && "id" in item && typeof item.id === "string" ? item.id : undefined

/** The questions of this runner, and those of all others that belong to them. */
export const heldAsks = (
  cluster: Pick<typeof Cluster.Service, "holder">,
  own: ReadonlyArray<unknown>,
  others: ReadonlyArray<Listed>
): Effect.Effect<ReadonlyArray<unknown>, StorageError, SessionStorage> =>
  Effect.gen(function*() {
    const found = (yield* Effect.forEach(others, (listed) => heldBy(cluster, listed))).flat()
    const isDoubled = (id: string) => found.filter((each) => each.id === id).length > 1
    const seen = new Set(own.map(idOf))
    const items = [...own]
    for (const { id, item, rootID } of found) {
      if (seen.has(id)) continue
      // Two list it. The journal knows in which tree it was asked.
      if (isDoubled(id) && !(yield* isAskedIn(rootID, id))) continue
      seen.add(id)
      items.push(item)
    }
    return items
  })

/** How often an answer is given at most, and how long to wait before the next time: a takeover takes seconds. */
const most = 60
const pause = "300 millis"

/** What a runner says to it. */
interface Said {
  readonly status: number
}

/** Whether a runner says that it does not ask the question, or has lost its tree: the client may get that. */
const isKnown = ({ status }: Said): boolean => status === 404 || status === 409

/** Whether it does not take the answer. What else it says then is about itself, for example that it is about to stop. */
const isElsewhere = (said: Said): boolean => isKnown(said) || [401, 408].includes(said.status) || said.status >= 500

/**
 * How giving it ended: what a runner said, or that the answer is stored, that another one came first, or that no runner asks
 * the question now.
 */
type Given<A extends Said> = { readonly said: A } | "stored" | "taken" | "nobody"

/** Gives it to all runners at once, this one first, until one of them takes it. */
export const giveAnswer = <A extends Said, R>({ everywhere, giveTo, state }: {
  readonly everywhere: Effect.Effect<Arr.NonEmptyReadonlyArray<string>>
  /** Gives it to one; undefined if it did not say anything in time. */
  readonly giveTo: (target: string) => Effect.Effect<A | undefined>
  /** What the journal says of the question. */
  readonly state: Effect.Effect<AskState | undefined, StorageError, R>
}): Effect.Effect<Given<A>, StorageError, R> => {
  /** Who has said that it took the answer, and did not: another program listens where a runner was. */
  const strangers = new Set<string>()
  const tryOnce = Effect.gen(function*() {
    let isSure = true
    let last: A | undefined
    const one = (target: string) =>
      Effect.flatMap(giveTo(target), (said) => {
        if (said !== undefined && !isElsewhere(said)) return Effect.succeed({ said, target })
        if (said !== undefined && isKnown(said)) last = said
        isSure &&= said?.status === 404
        return Effect.fail("elsewhere" as const)
      })
    const [own, ...others] = yield* everywhere
    const targets = [own, ...others.filter((target) => !strangers.has(target))]
    const taken = Option.getOrUndefined(yield* Effect.option(Effect.raceAll(targets.map(one))))
    return { taken, isOwn: taken?.target === own, last, isSure }
  })
  return Effect.gen(function*() {
    let mayHaveArrived = false
    for (let time = 0; time < most; time++) {
      const { isOwn, isSure, last, taken } = yield* tryOnce
      const now = yield* state
      // What is stored counts, and not what a server says that it took.
      if (now === "taken" && (taken === undefined || taken.said.status < 300)) {
        return last === undefined ? "taken" : { said: last }
      }
      // A question that is still open has not been answered. A refusal leaves it open.
      if (taken !== undefined && (isOwn || now !== "open" || taken.said.status >= 300)) return { said: taken.said }
      if (taken !== undefined) strangers.add(taken.target)
      mayHaveArrived ||= !isSure
      if (now === "answered" && mayHaveArrived) return "stored"
      if (now !== "open" && last !== undefined) return { said: last }
      yield* Effect.sleep(pause)
    }
    return "nobody"
  })
}

/** How long a runner may take to answer. */
const patience = "3 seconds"

const decodePage = Schema.decodeUnknownOption(
  Schema.parseJson(Schema.Struct({ items: Schema.Array(Schema.Unknown), next: Schema.optional(Schema.String) }))
)

const decodeKeyed = Schema.decodeUnknownOption(Schema.Struct({ id: Schema.String, type: Schema.String }))

/** The place of a question in the list. */
const keyOf = (item: unknown): string => Option.match(decodeKeyed(item), { onNone: () => "", onSome: askKey })

/** The items of an answer, and the key after which it has more. */
const pageIn = ({ body }: Pick<Answer, "body">) => {
  const { items, next } = Option.getOrElse(decodePage(body.toString("utf8")), () => ({ items: [], next: undefined }))
  return { items, ends: next === undefined || items.length === 0 ? undefined : keyOf(items.at(-1)) }
}

/** The first of the items that several pages together have, up to where the first of them ends. */
export const mergedAsks = (items: ReadonlyArray<unknown>, ends: ReadonlyArray<string | undefined>, limit: number) =>
  Effect.gen(function*() {
    const [end] = ends.filter((each) => each !== undefined).toSorted()
    const known = end === undefined ? items : items.filter((item) => keyOf(item) <= end)
    const page = yield* Effect.orDieWith(
      pageOf(known, { limit }, keyOf),
      () => "A page without a cursor cannot have a bad one"
    )
    return page.next !== undefined || end === undefined ? page : { ...page, next: keyCursor.write({ after: end }) }
  })

/** Makes the functions that ask all runners, this one first. */
export const makeAskAll = (
  cluster: typeof Cluster.Service,
  signatureOf: (target: string, sent: Sent) => string,
  largestBody: number
) => {
  const everywhere = Effect.map(
    cluster.others,
    (others): Arr.NonEmptyReadonlyArray<string> => [cluster.url, ...others.map(({ url }) => url)]
  )

  const askAt = (target: string, sent: Sent) =>
    Effect.map(
      Effect.timeoutOption(exchange(target, sent, signatureOf(target, sent)), patience),
      Option.getOrUndefined
    )

  return {
    /**
     * Gives an answer to the runner that asks the question. While its tree moves, nobody does: the question is open in the
     * journal, and its next runner asks it again.
     */
    reply: Effect.fnUntraced(function*(id: string, request: IncomingMessage, response: ServerResponse) {
      const body = yield* readBody(request, response, largestBody)
      if (body === undefined) return
      const sent = sentOf(request, body)
      const given = yield* giveAnswer({
        everywhere,
        giveTo: (target) => askAt(target, sent),
        state: askState(id, body.toString("utf8"))
      })
      if (given === "nobody") {
        return refuse(response, 503, "NoRunner", "No server asks this question now. Try again in a moment.")
      }
      if (given === "taken") {
        return refuse(response, 404, "AskNotFound", `The question ${id} has another answer already: that one counts.`)
      }
      if (given === "stored") return void response.writeHead(204).end()
      const { body: text, headers, status } = given.said
      response.writeHead(status, headers).end(text)
    }),
    /** Collects the questions of all of them. */
    list: Effect.fnUntraced(function*(request: IncomingMessage, response: ServerResponse) {
      const asked = new URL(request.url ?? "", "http://localhost").searchParams
      const limit = Number(asked.get("limit") ?? usualPage)
      const sent = sentOf(request, Buffer.alloc(0))
      const targets = yield* everywhere
      // Each of them gives the page that follows the cursor: what of all of them belongs on it is on one of these.
      const [own, ...others] = yield* Effect.forEach(targets, (target) => askAt(target, sent), {
        concurrency: "unbounded"
      })
      if (own === undefined) {
        return refuse(response, 503, "NoRunner", "This server does not answer. Try again in a moment.")
      }
      if (own.status !== 200) return void response.writeHead(own.status, own.headers).end(own.body)
      const unreached = targets.filter((_, index) => index > 0 && others[index - 1]?.status !== 200)
      const first = pageIn(own)
      const listed = others.flatMap((answer, index) =>
        answer?.status === 200 ? [{ target: targets[index + 1] ?? "", ...pageIn(answer) }] : []
      )
      const held = yield* heldAsks(cluster, first.items, listed)
      const page = yield* mergedAsks(held, [first, ...listed].map(({ ends }) => ends), limit)
      const { "content-length": _, ...headers } = own.headers
      const missing = unreached.length === 0 ? {} : { unreached }
      response.writeHead(200, headers).end(JSON.stringify({ ...page, ...missing }))
    })
  }
}
