import * as EventStream from "@skein/client/EventStream"
import * as SkeinClient from "@skein/client/SkeinClient"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"

/** Prompts a session, and prints the types of its later events. */
export const watch = (server: SkeinClient.ClientOptions, id: string) =>
  Effect.gen(function*() {
    const client = yield* SkeinClient.make(server)
    yield* client.sessions.prompt({ path: { id }, urlParams: {}, headers: {}, payload: { text: "Go on" } })
    yield* EventStream.events({ ...server, session: id }).pipe(
      Stream.runForEach((each) => Console.log(each._tag === "Event" ? each.event.type : each.reason))
    )
  })
