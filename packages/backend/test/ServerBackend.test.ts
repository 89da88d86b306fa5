/** Proves the backend over a server, which runs in this process and listens on a real socket. */
import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import * as FetchHttpClient from "@effect/platform/FetchHttpClient"
import { expect, it } from "@effect/vitest"
import { Backend } from "@skein/backend/Backend"
import * as ServerBackend from "@skein/backend/ServerBackend"
import type { Watcher } from "@skein/backend/Watching"
import { SessionStorage } from "@skein/core/SessionStorage"
import type { TreeSnapshot } from "@skein/domain/TreeSnapshot"
import { Server } from "@skein/server/Server"
import * as SkeinTest from "@skein/testing/SkeinTest"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import { conformance, type MakeBackend } from "./support/conformance.ts"

const token = Redacted.make("0123456789abcdef0123456789abcdef")

const backend: MakeBackend = (scripts, options) => {
  const server = Server.layer({
    hostname: "127.0.0.1",
    port: 0,
    token,
    version: "0.0.0-test",
    resume: false,
    projectOf: Effect.succeed
  })
  return Layer.unwrapEffect(
    Effect.map(Server, ({ url }) => ServerBackend.layer({ server: { url, token, version: "0.0.0-test" } }))
  ).pipe(
    Layer.provide(Layer.orDie(server)),
    Layer.provide(Layer.mergeAll(
      SkeinTest.layer(scripts, { asks: "person", ...options }),
      NodeFileSystem.layer,
      FetchHttpClient.layer
    ))
  )
}

conformance("ServerBackend", backend)

/** Storage that cannot read the end of a turn. */
const storage = Layer.map(SessionStorage.layerMemory, (context) => {
  const inner = Context.get(context, SessionStorage)
  return Context.make(SessionStorage, {
    ...inner,
    events: ({ onUnreadable, ...filter }) =>
      Effect.map(inner.events(filter), (found) =>
        found.filter(({ event: { id, type }, position, seq }) => {
          if (type !== "session.idle") return true
          onUnreadable?.({ id, reason: "damaged", position, seq })
          return false
        }))
  })
})

it.live("says that events are missing, and shows the tree instead", () =>
  Effect.gen(function*() {
    const { sessions, watch } = yield* Backend
    const { id } = yield* sessions.create({ directory: process.cwd() })
    const { turn } = yield* sessions.prompt(id, { words: "Go" })
    yield* turn
    yield* sessions.rest(id)
    const missed = yield* Deferred.make<string>()
    const shown: Array<number> = []
    // What is replayed from the beginning comes from the log.
    yield* watch.made(sessions.get(id), {
      event: () => undefined,
      snapshot: ({ seq }: TreeSnapshot) => void shown.push(seq),
      missed: (reason: string) => void Deferred.unsafeDone(missed, Effect.succeed(reason))
    } as Watcher)
    expect(yield* Deferred.await(missed)).toBe("unreadable")
    expect(shown).toEqual([(yield* watch.snapshot(id)).seq])
  }).pipe(Effect.scoped, Effect.provide(backend({ "*": ["ok"] }, { storage }))))
