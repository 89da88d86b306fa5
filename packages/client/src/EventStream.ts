/** Owns the events of a server as a stream that survives broken connections: it continues after the last event. */
import * as HttpClient from "@effect/platform/HttpClient"
import type { HttpClientError } from "@effect/platform/HttpClientError"
import * as HttpClientRequest from "@effect/platform/HttpClientRequest"
import { directUrl } from "@skein/api/Handshake"
import type { Event } from "@skein/domain/Event"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import { identity } from "effect/Function"
import * as Option from "effect/Option"
import * as Schedule from "effect/Schedule"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import { direct, isRedirect, redirectText } from "./Direct.ts"
import { authorised, type ClientOptions } from "./SkeinClient.ts"

/** The server does not stream events, for a permanent reason. */
export class StreamRefused extends Schema.TaggedError<StreamRefused>()("StreamRefused", {
  status: Schema.Number,
  message: Schema.String
}) {}

/** An item of the stream. */
export type Streamed =
  | { readonly _tag: "Event"; readonly id: string | undefined; readonly event: Event }
  /** Events are missing: reload everything. */
  | { readonly _tag: "Reset"; readonly id: string; readonly reason: string }

/** Which events to stream, and from which position. */
export interface StreamOptions extends ClientOptions {
  /**
   * Finds the server before each connection, because a restarted one has another port and token. Nothing is sent while
   * there is none. If it fails, so does the stream.
   */
  readonly locate?: Effect.Effect<Option.Option<ClientOptions>, StreamRefused>
  /** Types of events to skip; they are not even decoded. */
  readonly without?: ReadonlySet<string>
  /** Runs each time a connection breaks, or cannot be made. */
  readonly onBroken?: Effect.Effect<void>
  /** A session of the tree; all trees if absent. */
  readonly session?: string
  /** The id of the last known event. The stream continues after it. */
  readonly from?: string
  /** Runs at each heartbeat: whether the server says that its storage does not answer. No event comes meanwhile. */
  readonly onHeartbeat?: (isStorageAway: boolean) => Effect.Effect<void>
  /** Runs each time anything arrives from the server. */
  readonly onData?: Effect.Effect<void>
  /** Runs each time the server begins to stream. */
  readonly onOpen?: Effect.Effect<void>
  /** Ends once the server at a URL has fallen silent: the connection to it then counts as broken. */
  readonly silent?: (url: string) => Effect.Effect<void>
}

/** Heartbeats arrive every two seconds. Without any for this long, the connection is dead, whatever the server does. */
const silence = Duration.seconds(20)

interface Message {
  readonly id: string | undefined
  readonly type: string
  readonly data: string
}

const messageOf = (block: string): Message => {
  let id: string | undefined
  let type = "message"
  const data: Array<string> = []
  for (const line of block.split("\n")) {
    const at = line.indexOf(":")
    const value = line.slice(at + 1).replace(/^ /, "")
    switch (at < 0 ? line : line.slice(0, at)) {
      case "id":
        id = value
        break
      case "event":
        type = value
        break
      case "data":
        data.push(value)
    }
  }
  return { id, type, data: data.join("\n") }
}

const streamedOf = ({ data, id, type }: Message, without: ReadonlySet<string>): Option.Option<Streamed> => {
  if (data === "" || type === "heartbeat" || without.has(type)) return Option.none()
  return Option.some(
    type === "reset"
      ? { _tag: "Reset", id: id ?? "", reason: (JSON.parse(data) as { readonly reason: string }).reason }
      : { _tag: "Event", id, event: JSON.parse(data) as Event }
  )
}

/** Splits a stream into blocks of lines, each of which is a message. */
const blocks = <E, R>(text: Stream.Stream<string, E, R>): Stream.Stream<string, E, R> =>
  Stream.mapConcat(
    Stream.mapAccum(text, "", (rest, piece) => {
      const parts = `${rest}${piece}`.split("\n\n")
      return [parts.pop() ?? "", parts]
    }),
    (parts) => parts
  )

const isStorageAway = ({ data }: Message): boolean =>
  (JSON.parse(data) as { readonly storage?: string }).storage === "away"

const nothing: ReadonlySet<string> = new Set()

class Broken extends Schema.TaggedError<Broken>()("Broken", {}) {}

/** Nobody answered, or somebody leads elsewhere: the next try would meet the same. */
const refusedBy = (url: string, error: HttpClientError): Broken | StreamRefused =>
  error._tag === "ResponseError" && isRedirect(error.response)
    ? new StreamRefused({
      status: error.response.status,
      message: `The server at ${url} does not stream events: ${redirectText(error.response)}.`
    })
    : new Broken()

/** The events as they arrive. It only ends with an error that retrying would not fix. */
export const events = (
  {
    from,
    locate,
    onBroken = Effect.void,
    onData = Effect.void,
    onHeartbeat,
    onOpen = Effect.void,
    session,
    silent = () => Effect.never,
    token,
    url,
    without = nothing
  }: StreamOptions
): Stream.Stream<Streamed, StreamRefused, HttpClient.HttpClient> => {
  let last = from
  const path = session === undefined ? "/v1/events" : `/v1/sessions/${encodeURIComponent(session)}/events`

  const connection: Stream.Stream<Streamed, Broken | StreamRefused, HttpClient.HttpClient> = Stream.unwrapScoped(
    Effect.gen(function*() {
      const http = direct(yield* HttpClient.HttpClient)
      const found = locate === undefined ? Option.some({ token, url }) : yield* locate
      const server = yield* Effect.mapError(found, () => new Broken())
      const request = HttpClientRequest.get(`${directUrl(server.url)}${path}`).pipe(
        authorised(server.token),
        HttpClientRequest.setHeaders(last === undefined ? {} : { "last-event-id": last })
      )
      const fallen = Effect.zipRight(silent(server.url), new Broken())
      const response = yield* Effect.raceFirst(
        Effect.mapError(http.execute(request), (error) => refusedBy(server.url, error)),
        fallen
      )
      // A new server may have a new token as well.
      const isStale = response.status === 401 && locate !== undefined
      if (response.status >= 400 && response.status < 500 && !isStale) {
        return yield* new StreamRefused({
          status: response.status,
          message: yield* Effect.orElseSucceed(response.text, () => "")
        })
      }
      if (response.status !== 200) return yield* new Broken()
      yield* onOpen
      const data = Stream.tap(Stream.mapError(response.stream, () => new Broken()), () => onData)
      return blocks(Stream.decodeText(Stream.interruptWhen(data, fallen))).pipe(
        Stream.timeoutFail(() => new Broken(), silence),
        Stream.map(messageOf),
        onHeartbeat === undefined
          ? identity
          : Stream.tap((message) => message.type === "heartbeat" ? onHeartbeat(isStorageAway(message)) : Effect.void),
        Stream.filterMap((message) => streamedOf(message, without)),
        Stream.tap(({ id }) => Effect.sync(() => void (last = id ?? last))),
        // A server ends a stream if it shuts down, or if the client was too slow. Reconnect in both cases.
        Stream.concat(Stream.fail(new Broken()))
      )
    })
  )

  return connection.pipe(
    Stream.tapError(() => onBroken),
    Stream.retry(
      Schedule.exponential("200 millis", 2).pipe(
        Schedule.union(Schedule.spaced("5 seconds")),
        Schedule.jittered,
        Schedule.whileInput((error: Broken | StreamRefused) => error._tag === "Broken")
      )
    ),
    Stream.catchTag("Broken", () => Stream.dieMessage("A broken connection is tried again without end"))
  )
}
