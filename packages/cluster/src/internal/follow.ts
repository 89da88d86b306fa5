/**
 * Sends a request to where its tree is, also while that moves, or to the first runner that has its directory: any runner
 * takes any request.
 */
import * as FileSystem from "@effect/platform/FileSystem"
import type { StorageError } from "@skein/core/StorageError"
import type { SessionID } from "@skein/domain/Id"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Random from "effect/Random"
import { randomUUID } from "node:crypto"
import type { IncomingMessage, ServerResponse } from "node:http"
import { isAbsolute } from "node:path"
import type { Cluster } from "../Cluster.ts"
import { type Answer, exchange, oddText, type Outcome, relay } from "./exchange.ts"
import { type Away, awayText, type Unable } from "./places.ts"
import {
  awaitsWork,
  beginsWork,
  isRepeatable,
  needsDirectory,
  peekBody,
  refuse,
  type Sent,
  sentOf
} from "./requests.ts"

/**
 * The address of one of them, by `chance` from 0 to 1: a runner with twice the room is chosen twice as often. Undefined if
 * none has room.
 */
export const pick = (
  rooms: ReadonlyArray<{ readonly url: string; readonly room: number }>,
  chance: number
): string | undefined => {
  const open = rooms.filter(({ room }) => room > 0)
  let left = chance * open.reduce((sum, { room }) => sum + room, 0)
  for (const { room, url } of open) {
    left -= room
    if (left < 0) return url
  }
  return open.at(-1)?.url
}

/** A runner, and how many more agents can work there. */
interface Room {
  readonly url: string
  readonly room: number
}

/** The other runners that may take up a tree, and how many more agents can work there. */
const roomsFor = (cluster: typeof Cluster.Service, rootID: SessionID): Effect.Effect<ReadonlyArray<Room>> =>
  Effect.flatMap(cluster.others, (others) =>
    Effect.map(
      Effect.forEach(
        others,
        ({ url }) => Effect.map(cluster.peers.room(url, rootID), (room) => ({ url, room })),
        { concurrency: "unbounded" }
      ),
      (rooms) => rooms.flatMap(({ room, url }) => room === undefined ? [] : [{ url, room }])
    ))

/** The address of one of them: those with much room are chosen more often, so that not all prompts go to one. */
const chooseRoom = (rooms: ReadonlyArray<Room>): Effect.Effect<string | undefined> =>
  Effect.map(Random.next, (chance) => pick(rooms, chance))

/** How often to look whether a tree has moved while a runner is asked. */
const pace = "1 second"

/** How long to wait before a request is sent once more. */
const pause = "200 millis"

/** How often a request is sent at most: a takeover needs some seconds. */
const most = 100

/** Why there is no answer yet; `silent` if the runner answers nothing at all. */
type Lost = Exclude<Outcome, "answered"> | "silent"

/** Where a tree in which nobody works goes. Prefers a runner with room; without one, it waits at one that may have it. */
const makeFreeTarget = (cluster: typeof Cluster.Service) =>
  Effect.fnUntraced(function*(rootID: SessionID, sent: Sent) {
    const isWaiting = awaitsWork(sent)
    if (!isWaiting && !needsDirectory(sent)) return cluster.url
    const place = yield* cluster.place(rootID)
    if (place._tag === "Here" && !(beginsWork(sent) && (yield* cluster.isFull))) return cluster.url
    const rooms = yield* roomsFor(cluster, rootID)
    const chosen = yield* chooseRoom(rooms)
    if (chosen !== undefined) return chosen
    if (place._tag === "Here") return cluster.url
    if (place._tag === "There") return place.url
    const [sharing] = rooms
    if (sharing !== undefined) return sharing.url
    // Its work comes from where it is taken up, and nothing is to come from an idle tree.
    if (isWaiting) return (yield* cluster.isUnfinished(rootID)) ? place : cluster.url
    // This one says what is missing, or continues with the model that the prompt names.
    if (place._tag === "Unable") return cluster.url
    return place.isKept === true && (yield* cluster.bring(rootID)) ? cluster.url : place
  })

const refusedText = (target: string): string =>
  `The server ${target}, which holds this session, does not accept requests of this one. Give both the same --cluster-secret-file and the same version of Skein, and reach both at the address that \`skein cluster status\` shows.`

const unknownText = "It may or may not have been carried out. Check before you retry."

const noRunnerText = (odd?: string): string =>
  `${odd === undefined ? "" : `${odd} `}No server could answer for this session. Try again in a moment.`

const silentText = (target: string): string =>
  `The server ${target}, which holds this session, does not answer this one, although both reach the database. Check the network between the machines, then try again.`

/** What happened to a server that did not answer as it should. */
const endText = (outcome: Lost, target: string): string => {
  if (typeof outcome === "object") return oddText(target, outcome.odd)
  return outcome === "silent"
    ? `The server ${target}, which holds this session, stopped answering.`
    : "The server of this session went away."
}

/** The problem that ends a request; undefined if it is sent once more. */
const problemOf = (outcome: Lost, target: string, sent: Sent): readonly [title: string, detail: string] | undefined => {
  if (outcome === "refused") return ["RunnerRefused", refusedText(target)]
  const isUnknown = outcome === "broken" || outcome === "silent" || typeof outcome === "object"
  return isUnknown && !isRepeatable(sent) ? ["RunnerLost", `${endText(outcome, target)} ${unknownText}`] : undefined
}

/** Makes what sends a request to a runner until that has answered, has lost the tree, or is silent. */
const makeAsk = (
  cluster: typeof Cluster.Service,
  signatureOf: (target: string, sent: Sent) => string,
  silent: (target: string) => Effect.Effect<void>
) => {
  /**
   * Ends when a tree is no longer with a runner. An answer that has begun continues while nobody else works in the tree. A
   * database that does not answer proves nothing. A runner that was asked to take up a free tree (`isNew`) may still do so
   * while it is there.
   */
  const moved = (rootID: SessionID, target: string, response: ServerResponse, isNew: boolean): Effect.Effect<void> =>
    Effect.sleep(pace).pipe(
      Effect.zipRight(Effect.orElseSucceed(cluster.holder(rootID), () => target)),
      Effect.zip(Effect.map(cluster.others, (others) => isNew && others.some(({ url }) => url === target))),
      Effect.flatMap(([holder, mayBegin]) => {
        const present = holder ?? (response.headersSent || mayBegin ? target : cluster.url)
        return present === target ? moved(rootID, target, response, isNew) : Effect.void
      })
    )

  // This runner is here, and says itself when another one works in the tree.
  return (rootID: SessionID, target: string, sent: Sent, response: ServerResponse, isNew: boolean) => {
    const answered: Effect.Effect<"answered" | Lost> = relay(target, sent, signatureOf(target, sent), response)
    return target === cluster.url ? answered : Effect.raceAll([
      answered,
      Effect.as(moved(rootID, target, response, isNew), "broken" satisfies Lost),
      Effect.as(silent(target), "silent" satisfies Lost)
    ])
  }
}

/** Makes the function that sends requests on until they are answered. `silent` ends once a runner answers nothing. */
export const makeFollow = (
  cluster: typeof Cluster.Service,
  signatureOf: (target: string, sent: Sent) => string,
  silent: (target: string) => Effect.Effect<void>
) => {
  const ask = makeAsk(cluster, signatureOf, silent)
  const freeTarget = makeFreeTarget(cluster)

  /** This runner holds a tree in which nobody works just now. If it is at its limit and another one has room, it lets go. */
  const ownTarget = Effect.fnUntraced(function*(rootID: SessionID, sent: Sent) {
    if (cluster.isUsed(rootID) || !beginsWork(sent) || !(yield* cluster.isFull)) return cluster.url
    const chosen = yield* chooseRoom(yield* roomsFor(cluster, rootID))
    return chosen !== undefined && (yield* cluster.release(rootID)) ? chosen : cluster.url
  })

  const targetOf = (
    rootID: SessionID,
    holder: string | undefined,
    sent: Sent
  ): Effect.Effect<string | Away | Unable, StorageError> => {
    if (holder === undefined) return freeTarget(rootID, sent)
    return holder === cluster.url ? ownTarget(rootID, sent) : Effect.succeed(holder)
  }

  return Effect.fnUntraced(function*(rootID: SessionID, sent: Sent, response: ServerResponse) {
    const isWaiting = awaitsWork(sent)
    let odd: string | undefined
    for (let time = 0; time < most; time++) {
      // A client that gave up has come again, or will.
      if (response.destroyed) return
      const holder = yield* cluster.holder(rootID)
      // Its next server is about to take it up: this one must not.
      if (holder === undefined && (yield* cluster.hasLeft(rootID))) {
        yield* Effect.sleep(pause)
        continue
      }
      const target = yield* targetOf(rootID, holder, sent)
      if (typeof target !== "string") {
        if (!isWaiting && target._tag === "Away") return refuse(response, 503, "HostAway", awayText(rootID, target))
        time--
        yield* Effect.sleep(pace)
        continue
      }
      const outcome = yield* ask(rootID, target, sent, response, holder !== target)
      if (outcome === "answered") return
      // A client of events connects again, and continues after the last one that it got.
      if (response.headersSent) return void response.destroy()
      if (typeof outcome === "object") {
        odd = oddText(target, outcome.odd)
        yield* Effect.logWarning(odd)
      }
      const problem = problemOf(outcome, target, sent)
      if (problem !== undefined) return refuse(response, 503, ...problem)
      yield* Effect.sleep(pause)
      // It holds the tree all the same, and would stay silent the next time.
      if (outcome === "silent" && (yield* cluster.holder(rootID)) === target) {
        return refuse(response, 503, "NoRunner", silentText(target))
      }
    }
    refuse(response, 503, "NoRunner", noRunnerText(odd))
  })
}

/** How long a runner may take to answer. */
const patience = "10 seconds"

const directoryIn = (body: Buffer): Effect.Effect<Option.Option<string>> =>
  Effect.map(
    Effect.option(Effect.try((): unknown => JSON.parse(body.toString("utf8")))),
    Option.flatMap((parsed) =>
      typeof parsed === "object" && parsed !== null && "directory" in parsed && typeof parsed.directory === "string"
        ? Option.some(parsed.directory)
        : Option.none()
    )
  )

/** A session is begun once, however many runners are asked. */
const withKey = (sent: Sent): Sent =>
  sent.method === "POST" && sent.headers["idempotency-key"] === undefined
    ? { ...sent, headers: { ...sent.headers, "idempotency-key": `cluster-${randomUUID()}` } }
    : sent

type Said = "no" | "unknown" | Answer

const meaningOf = (answer: Answer | undefined): Said => {
  if (answer === undefined || answer.status === 401 || answer.status === 408 || answer.status === 503) return "unknown"
  return answer.status === 422 && answer.body.includes(":NoDirectory\"") ? "no" : answer
}

/** Makes it. `local` answers where a directory is here, or nowhere. */
export const makeToDirectory = Effect.fnUntraced(function*(
  cluster: typeof Cluster.Service,
  signatureOf: (target: string, sent: Sent) => string,
  largestBody: number
) {
  const fileSystem = yield* FileSystem.FileSystem
  const isHere = (directory: string) =>
    Effect.orElseSucceed(Effect.map(fileSystem.stat(directory), ({ type }) => type === "Directory"), () => false)

  const askAt = (target: string, sent: Sent): Effect.Effect<Said> =>
    Effect.map(
      Effect.timeoutOption(exchange(target, sent, signatureOf(target, sent)), patience),
      (answer) => meaningOf(Option.getOrUndefined(answer))
    )

  return Effect.fnUntraced(function*(
    named: string | undefined,
    request: IncomingMessage,
    response: ServerResponse,
    local: () => void
  ) {
    const body = yield* peekBody(request, response, largestBody)
    if (body === undefined) return
    const directory = named ?? Option.getOrUndefined(yield* directoryIn(body))
    if (directory === undefined || !isAbsolute(directory) || directory.includes("\0")) return local()
    if (yield* isHere(directory)) return local()
    const sent = withKey(sentOf(request, body))
    const silent: Array<string> = []
    for (const { url } of yield* cluster.others) {
      const said = yield* askAt(url, sent)
      if (said === "unknown") silent.push(url)
      else if (said !== "no") {
        // The client may be gone.
        if (!response.headersSent) response.writeHead(said.status, said.headers).end(said.body)
        return
      }
    }
    if (silent.length === 0) return local()
    refuse(
      response,
      503,
      "RunnerLost",
      `The directory ${directory} is not on the machine of this server, and it is unknown whether it is on that of ${
        silent.join(" and of ")
      }, which did not answer. Try again in a moment, with the same Idempotency-Key if there is one.`
    )
  })
})
