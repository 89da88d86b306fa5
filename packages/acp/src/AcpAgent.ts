/** Serves the sessions of a backend to one client that speaks the Agent Client Protocol. */
import { type AgentConnection, ndJsonStream } from "@agentclientprotocol/sdk/unstable"
import { Backend } from "@skein/backend/Backend"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as FiberSet from "effect/FiberSet"
import type { AcpHost } from "./AcpHost.ts"
import { makeAsking } from "./internal/asking.ts"
import { answering, makeClient } from "./internal/connection/Client.ts"
import { answerTo, bounded, errorOf, type Failure, inOrder } from "./internal/connection/frames.ts"
import { makeApp, type Serving } from "./internal/methods/app.ts"
import { Sessions } from "./internal/session/Sessions.ts"

/** Waits until a connection is closed, by either side. */
const closed = (connection: AgentConnection): Effect.Effect<void> =>
  Effect.async<void>((resume) => {
    const done = () => resume(Effect.void)
    if (connection.signal.aborted) return done()
    connection.signal.addEventListener("abort", done, { once: true })
    return Effect.sync(() => connection.signal.removeEventListener("abort", done))
  })

/**
 * Serves a client until it is gone, and leaves its sessions then. In this process, their work is interrupted. On a server, it
 * continues. Questions wait for the next client that opens the session.
 */
export const serve = (host: AcpHost): Effect.Effect<void, never, Backend> =>
  Effect.scoped(Effect.gen(function*() {
    const backend = yield* Backend
    const { answered, send, stream } = answering(ndJsonStream(
      host.output,
      bounded(host.input, (frame) => answerTo(frame, (message) => send(message)))
    ))
    // Sessions are left after all that works on them has ended.
    let sessions: Sessions | undefined
    yield* Effect.addFinalizer(() => sessions?.closeAll ?? Effect.void)
    const fibers = yield* FiberSet.make<unknown>()
    const fork = yield* FiberSet.runtime(fibers)()

    const run = <A>(effect: Effect.Effect<A, Failure>, signal?: AbortSignal): Promise<A> =>
      new Promise<A>((resolve, reject) => {
        const fiber = fork(effect)
        fiber.addObserver((exit) => Exit.isSuccess(exit) ? resolve(exit.value) : reject(errorOf(exit.cause)))
        signal?.addEventListener("abort", () => fiber.unsafeInterruptAsFork(fiber.id()), { once: true })
      })

    const pause = () =>
      new Promise<void>((resolve) => {
        fork(Effect.sleep(0)).addObserver(() => resolve())
      })

    let serving: Serving | undefined
    const app = makeApp(() => {
      // Nothing is received before the connection is open.
      if (serving === undefined) throw new Error("the connection is not open yet")
      return serving
    })
    const connection = yield* Effect.acquireRelease(
      Effect.sync(() => app.connect({ ...stream, readable: inOrder(stream.readable, pause) })),
      (open) => Effect.sync(() => open.close())
    )
    const client = makeClient(connection)
    const asking = yield* makeAsking(client, backend)
    const around = { host, backend, client, asking, beside: (effect: Effect.Effect<void>) => void fork(effect) }
    sessions = new Sessions(around)
    serving = { ...around, sessions, answered, run }
    yield* closed(connection)
  }))
