/** Decides which methods a client can call, and what answers each. */
import {
  agent,
  type AgentApp,
  type AvailableCommand,
  type InitializeRequest,
  type InitializeResponse,
  type JsonRpcId,
  PROTOCOL_VERSION
} from "@agentclientprotocol/sdk/unstable"
import type { Backend } from "@skein/backend/Backend"
import type { BackendError } from "@skein/backend/BackendError"
import { visibleLine } from "@skein/view/Visible"
import * as Effect from "effect/Effect"
import { badRequest, type Failure } from "../connection/frames.ts"
import type { OpenSession } from "../session/OpenSession.ts"
import { cancel, prompt } from "../session/prompt.ts"
import type { Around, Sessions } from "../session/Sessions.ts"

/** What the methods work with. */
export interface Serving extends Around {
  readonly sessions: Sessions
  /** Waits until a request has its answer. */
  readonly answered: (id: JsonRpcId) => Effect.Effect<void>
  /** Runs what answers a request, as long as the connection lasts; what fails is thrown as the client is to hear it. */
  readonly run: <A>(effect: Effect.Effect<A, Failure>, signal?: AbortSignal) => Promise<A>
}

const initialize = ({ client, host }: Serving, { clientCapabilities }: InitializeRequest): InitializeResponse => {
  client.capabilities = clientCapabilities ?? {}
  return {
    protocolVersion: PROTOCOL_VERSION,
    agentInfo: { name: "skein", title: "Skein", version: host.version },
    agentCapabilities: {
      loadSession: true,
      promptCapabilities: { image: true, audio: false, embeddedContext: true },
      mcpCapabilities: { http: true, sse: true },
      sessionCapabilities: { list: {}, resume: {}, close: {} }
    },
    authMethods: []
  }
}

const commandsOf = (
  { projects }: typeof Backend.Service,
  { directory, root }: OpenSession,
  servers: boolean
): Effect.Effect<Array<AvailableCommand>, BackendError> =>
  Effect.map(projects.of(root).commands(directory, { servers }), ({ items }) =>
    items.map(({ description, name }) => ({
      name,
      description: visibleLine(description ?? name),
      input: { hint: "arguments" }
    })))

/** Tells a client what it hears once it knows a session: the commands, what is to be said, and what waits for it. */
const greet = ({ answered, backend, beside, client }: Serving, session: OpenSession, request: JsonRpcId): void =>
  beside(
    Effect.gen(function*() {
      yield* answered(request)
      for (const note of session.later.splice(0)) session.note(note)
      session.askAgain()
      const tell = (availableCommands: Array<AvailableCommand>) =>
        client.tell({
          sessionId: session.root,
          update: { sessionUpdate: "available_commands_update", availableCommands }
        })
      const known = yield* commandsOf(backend, session, false)
      tell(known)
      // Servers may take seconds to start, and their prompts are commands.
      const all = yield* commandsOf(backend, session, true)
      if (all.length > known.length) tell(all)
    }).pipe(Effect.catchAll((error) => Effect.sync(() => session.note(error.message))))
  )

const choose = (serving: Serving, id: string, configId: string, value: unknown) =>
  Effect.gen(function*() {
    const { sessions } = serving
    const session = yield* sessions.get(id)
    const name = String(value)
    if (configId === "mode") yield* sessions.setMode(session, name)
    else if (configId === "model") yield* sessions.setModel(session, name)
    else return yield* Effect.fail(badRequest(`There is no option ${configId}. There are mode and model.`))
    const { configOptions } = yield* sessions.settings(session)
    return { configOptions }
  })

/** A client cancels a session that it has opened, or a subagent of one. */
const cancelAny = ({ backend, sessions }: Serving, id: string): Effect.Effect<void, Failure> => {
  const above = sessions.above(id)
  if (above !== undefined && above.isNested) return Effect.asVoid(backend.tasks.stop(id as OpenSession["root"]))
  return Effect.flatMap(sessions.get(id), (session) => cancel(backend, session))
}

const cancelBeside = (serving: Serving, id: string): void =>
  serving.beside(
    Effect.catchAll(cancelAny(serving, id), (error) =>
      "message" in error ? Effect.logWarning("A session could not be cancelled", error.message) : Effect.void)
  )

const sessionMethods = (app: AgentApp, given: () => Serving): AgentApp =>
  app
    .onRequest("session/new", ({ params, requestId, signal }) => {
      const serving = given()
      const { run, sessions } = serving
      return run(
        Effect.gen(function*() {
          const session = yield* sessions.make(params)
          const settings = yield* sessions.settings(session)
          greet(serving, session, requestId)
          return { sessionId: session.root, ...settings }
        }),
        signal
      )
    })
    .onRequest("session/load", ({ params, requestId, signal }) => {
      const serving = given()
      const { run, sessions } = serving
      return run(
        Effect.gen(function*() {
          const session = yield* sessions.open(params.sessionId, params, true)
          const settings = yield* sessions.settings(session)
          greet(serving, session, requestId)
          return settings
        }),
        signal
      )
    })
    .onRequest("session/resume", ({ params, requestId, signal }) => {
      const serving = given()
      const { run, sessions } = serving
      return run(
        Effect.gen(function*() {
          const session = yield* sessions.open(params.sessionId, params, false)
          const settings = yield* sessions.settings(session)
          greet(serving, session, requestId)
          return settings
        }),
        signal
      )
    })
    .onRequest("session/list", ({ params, signal }) => {
      const { run, sessions } = given()
      return run(
        Effect.map(sessions.list(params.cwd ?? undefined, params.cursor ?? undefined), ({ items, next }) => ({
          ...(next === undefined ? {} : { nextCursor: next }),
          sessions: items.map(({ directory, id, time, title }) => ({
            sessionId: id,
            cwd: directory,
            title,
            updatedAt: new Date(time.updated).toISOString()
          }))
        })),
        signal
      )
    })
    .onRequest("session/close", ({ params, signal }) => {
      const { run, sessions } = given()
      return run(
        Effect.as(Effect.flatMap(sessions.get(params.sessionId), ({ root }) => sessions.close(root)), {}),
        signal
      )
    })

const turnMethods = (app: AgentApp, given: () => Serving): AgentApp =>
  app
    .onRequest("session/prompt", ({ params, signal }) => {
      const serving = given()
      const { backend, client, run, sessions } = serving
      // A client that takes its request back has cancelled the prompt; one that is gone has not.
      signal.addEventListener("abort", () => {
        if (!client.isGone()) cancelBeside(serving, params.sessionId)
      }, { once: true })
      return run(Effect.flatMap(sessions.get(params.sessionId), (session) => prompt(backend, session, params.prompt)))
    })
    .onRequest("session/set_mode", ({ params, signal }) => {
      const { run, sessions } = given()
      return run(
        Effect.as(
          Effect.flatMap(sessions.get(params.sessionId), (session) => sessions.setMode(session, params.modeId)),
          {}
        ),
        signal
      )
    })
    .onRequest("session/set_config_option", ({ params, signal }) => {
      const serving = given()
      return serving.run(choose(serving, params.sessionId, params.configId, params.value), signal)
    })
    .onNotification("session/cancel", ({ params }) => cancelBeside(given(), params.sessionId))

/** The methods. `given` has what they work with once the connection is open. */
export const makeApp = (given: () => Serving): AgentApp =>
  turnMethods(
    sessionMethods(
      agent({ name: "skein" })
        .onRequest("initialize", ({ params }) => initialize(given(), params))
        // Nothing here needs a login, because the program has its keys. A client that sends one is accepted.
        .onRequest("authenticate", () => ({})),
      given
    ),
    given
  )
