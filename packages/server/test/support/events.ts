/** Follows the events of the server as a client does, and waits for those that a test is about. */
import * as EventStream from "@skein/client/EventStream"
import type { Event, EventType } from "@skein/domain/Event"
import { Server } from "@skein/server/Server"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Queue from "effect/Queue"
import * as Redacted from "effect/Redacted"
import * as Stream from "effect/Stream"
import { token } from "./server.ts"

/** Follows the tree of a session, or all trees, until the scope closes. Ends once the server streams. */
export const follow = Effect.fnUntraced(function*(session?: string, from?: string) {
  const { url } = yield* Server
  const queue = yield* Effect.acquireRelease(Queue.bounded<EventStream.Streamed>(10_000), Queue.shutdown)
  const opened = yield* Effect.makeLatch(false)
  yield* EventStream.events({
    url,
    token: Redacted.make(token),
    onOpen: Effect.asVoid(opened.open),
    ...(session === undefined ? {} : { session }),
    ...(from === undefined ? {} : { from })
  }).pipe(
    Stream.runForEach((each) => Queue.offer(queue, each)),
    Effect.forkScoped
  )
  yield* opened.await
  const all = Stream.fromQueue(queue)
  /** The first event of a type that fits. */
  const first = <T extends EventType>(type: T, fits: (event: Event<T>) => boolean = () => true) =>
    Effect.map(
      Stream.runHead(Stream.filterMap(all, (each) => {
        const event = each._tag === "Event" && each.event.type === type ? each.event as Event<T> : undefined
        return Option.filter(Option.fromNullable(event), fits)
      })),
      Option.getOrThrow
    )
  const stored = Stream.filterMap(
    all,
    (each) =>
      each._tag === "Event" && each.id !== undefined ? Option.some({ event: each.event, id: each.id }) : Option.none()
  )
  return { all, first, stored }
})
