/**
 * Owns the sessions that a client has opened: the modes and models to choose from, and files as the client has them,
 * saved or not. Every operation on a file ends within a bounded time.
 */
import type { McpServer, SessionConfigOption, SessionModeState } from "@agentclientprotocol/sdk/unstable"
import type { Backend } from "@skein/backend/Backend"
import type { BackendError } from "@skein/backend/BackendError"
import type { ModelFact } from "@skein/backend/ProjectFacts"
import { SessionID } from "@skein/domain/Id"
import { type Mode, modeOf } from "@skein/domain/Mode"
import { formatRef, type ModelRef, parseRef } from "@skein/domain/Model"
import type { ListedSession } from "@skein/domain/TreeSnapshot"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Schema from "effect/Schema"
import * as Scope from "effect/Scope"
import { isAbsolute } from "node:path"
import type { AcpHost, ClientFileFailure, ClientFiles } from "../../AcpHost.ts"
import type { Asking } from "../asking.ts"
import type { Client } from "../connection/Client.ts"
import { badRequest, type Failure } from "../connection/frames.ts"
import { OpenSession } from "./OpenSession.ts"
import { replay } from "./replay.ts"

/** What is chosen in a session now. */
interface Chosen {
  readonly mode: Mode
  /** The model that answers; undefined where none can. */
  readonly model: ModelRef | undefined
}

const modeTexts: Readonly<Record<Mode, { readonly name: string; readonly description: string }>> = {
  plan: { name: "Plan", description: "Reads and plans; changes nothing but its plan files" },
  ask: { name: "Ask", description: "Asks before it changes files or runs commands that are not confined" },
  edits: { name: "Edits", description: "Changes files in the working directory without a question" },
  auto: { name: "Auto", description: "Asks nothing; what only a person may allow is denied" }
}

/** The modes to choose from. `auto` can only be chosen where the program was started with it. */
const offered = (current: Mode, allowsAuto: boolean): ReadonlyArray<Mode> =>
  allowsAuto || current === "auto" ? ["plan", "ask", "edits", "auto"] : ["plan", "ask", "edits"]

/** Whether a client may choose a mode. */
const mayChoose = (mode: string, allowsAuto: boolean): mode is Mode =>
  offered("ask", allowsAuto).some((each) => each === mode)

/** The modes as the older method has them. */
const modeState = ({ mode }: Chosen, allowsAuto: boolean): SessionModeState => ({
  currentModeId: mode,
  availableModes: offered(mode, allowsAuto).map((id) => ({ id, ...modeTexts[id] }))
})

const modelOption = ({ model }: Chosen, models: ReadonlyArray<ModelFact>): ReadonlyArray<SessionConfigOption> => {
  const current = model === undefined ? undefined : formatRef(model)
  const names = models.filter(({ available }) => available).map((fact) => ({
    value: formatRef(fact),
    name: fact.name ?? formatRef(fact)
  }))
  if (current === undefined) return []
  const options = names.some(({ value }) => value === current) ? names : [{ value: current, name: current }, ...names]
  return [{ id: "model", name: "Model", category: "model", type: "select", currentValue: current, options }]
}

/** All that can be chosen. */
const configOptions = (
  chosen: Chosen,
  models: ReadonlyArray<ModelFact>,
  allowsAuto: boolean
): Array<SessionConfigOption> => [
  {
    id: "mode",
    name: "Mode",
    category: "mode",
    type: "select",
    currentValue: chosen.mode,
    options: offered(chosen.mode, allowsAuto).map((value) => ({ value, ...modeTexts[value] }))
  },
  ...modelOption(chosen, models)
]

/** How long a client may take for a file. */
const filePatience = Duration.seconds(5)

/** How long it may take after it did not answer in time, until it answers again. */
const littlePatience = Duration.millis(250)

const failure = (reason: ClientFileFailure["reason"], message: string): ClientFileFailure => ({
  _tag: "EditorFailure",
  reason,
  message
})

const hasText = Schema.is(Schema.Struct({ content: Schema.String }))

/** The files of a client; undefined if it does not let agents read them. What cannot be read is never overwritten. */
export const filesOf = (client: Client, root: SessionID, directory: string): ClientFiles | undefined => {
  const { readTextFile = false, writeTextFile = false } = client.capabilities.fs ?? {}
  if (!readTextFile) return undefined
  let isLate = false

  const bounded = <A>(asking: Effect.Effect<A, { readonly message: string }>): Effect.Effect<A, ClientFileFailure> =>
    Effect.suspend(() => {
      const duration = isLate ? littlePatience : filePatience
      return asking.pipe(
        Effect.mapError(({ message }) =>
          client.isGone()
            ? failure("gone", "The editor has closed the connection.")
            : failure("refused", `The editor refused: ${message}.`)
        ),
        Effect.tap(() => Effect.sync(() => isLate = false)),
        Effect.timeoutFail({
          duration,
          onTimeout: () => {
            isLate = true
            return failure("silent", `The editor did not answer within ${Duration.format(duration)}.`)
          }
        })
      )
    })

  return {
    directory,
    read: (path) =>
      Effect.flatMap(
        bounded(client.ask("fs/read_text_file", { sessionId: root, path })),
        (answer) =>
          hasText(answer)
            ? Effect.succeed(answer.content)
            : Effect.fail(failure("refused", "The editor answered without a text."))
      ),
    write: writeTextFile
      ? (path, content) => Effect.asVoid(bounded(client.ask("fs/write_text_file", { sessionId: root, path, content })))
      : undefined
  }
}

/** The most sessions on a page of a list. */
const mostListed = 500

interface Listed {
  readonly items: ReadonlyArray<ListedSession>
  readonly next: string | undefined
}

/** How long leaving a session may hold up the end, in milliseconds. */
const patience = 5_000

/** Where a session is to be opened. */
interface OpenAt {
  readonly cwd: string
  readonly mcpServers?: ReadonlyArray<McpServer> | undefined
  readonly additionalDirectories?: ReadonlyArray<string> | undefined
}

/** What can be chosen in a session, and what is. */
interface Settings {
  readonly modes: SessionModeState
  readonly configOptions: Array<SessionConfigOption>
}

/** What the sessions stand on. */
export interface Around {
  readonly host: AcpHost
  readonly backend: typeof Backend.Service
  readonly client: Client
  readonly asking: Asking
  /** Runs something in the background while the connection lasts. */
  readonly beside: (effect: Effect.Effect<void>) => void
}

interface Entry {
  readonly session: OpenSession
  readonly scope: Scope.CloseableScope
}

const isSessionID = Schema.is(SessionID)

const unknown = (sessionId: string): Failure => ({ _tag: "UnknownSession", sessionId })

const relativePath = (cwd: string): Failure => badRequest(`cwd must be an absolute path, and ${cwd} is not.`)

/** The sessions. */
export class Sessions {
  readonly #around: Around
  readonly #entries = new Map<string, Entry>()

  constructor(around: Around) {
    this.#around = around
  }

  /** A session that this client has opened. */
  get(id: string): Effect.Effect<OpenSession, Failure> {
    const entry = this.#entries.get(id)
    return entry === undefined ? Effect.fail(unknown(id)) : Effect.succeed(entry.session)
  }

  /** The open session whose tree has this subagent. */
  above(id: string): OpenSession | undefined {
    return [...this.#entries.values()].map(({ session }) => session).find((session) => session.projection.has(id))
  }

  /** Makes a session. */
  make(at: OpenAt): Effect.Effect<OpenSession, Failure> {
    const { backend, host: { agent, mode, model } } = this.#around
    return Effect.gen(this, function*() {
      const notes = yield* this.#prepare(at)
      const info = yield* backend.sessions.create({
        directory: at.cwd,
        ...(agent === undefined ? {} : { agent }),
        ...(mode === undefined ? {} : { mode }),
        ...(model === undefined ? {} : { model })
      })
      const session = yield* this.#open(info.id, at.cwd)
      for (const note of notes) session.later.push(note)
      session.release()
      return session
    })
  }

  /** Opens a session that exists; `tells` says whether the client wants to hear what was said in it. */
  open(id: string, at: OpenAt, tells: boolean): Effect.Effect<OpenSession, Failure> {
    const { backend, host } = this.#around
    return Effect.gen(this, function*() {
      if (!isSessionID(id)) return yield* Effect.fail(unknown(id))
      const info = yield* Effect.catchTag(backend.sessions.get(id), "SessionNotFound", () => Effect.fail(unknown(id)))
      if (info.parentID !== undefined) return yield* Effect.fail(unknown(id))
      if (!isAbsolute(at.cwd)) return yield* Effect.fail(relativePath(at.cwd))
      if (!(yield* host.isSameDirectory(at.cwd, info.directory))) {
        return yield* Effect.fail(
          badRequest(
            `The session ${id} works in ${info.directory}, and not in ${at.cwd}. Open it with cwd ${info.directory}.`
          )
        )
      }
      const notes = yield* this.#prepare({ ...at, cwd: info.directory })
      yield* this.close(id)
      const session = yield* this.#open(id, info.directory)
      for (const note of notes) session.later.push(note)
      if (tells) yield* replay(backend, session)
      session.release()
      return session
    })
  }

  /** What can be chosen in a session, and what is. */
  settings(session: OpenSession): Effect.Effect<Settings, BackendError> {
    const { backend, host } = this.#around
    return Effect.gen(function*() {
      const info = yield* backend.sessions.get(session.root)
      const wanted = session.model ?? info.model
      // A project that cannot be opened says why when it is prompted.
      const models = yield* Effect.orElseSucceed(
        backend.projects.of(session.root).models(session.directory),
        (): ReadonlyArray<ModelFact> => []
      )
      const { model } = yield* Effect.orElseSucceed(
        backend.projects.of(session.root).modelFor(session.directory, { agent: info.agent, model: wanted }),
        () => ({ model: wanted })
      )
      const chosen = { mode: modeOf(info), model }
      const allowsAuto = host.mode === "auto"
      const settings = {
        modes: modeState(chosen, allowsAuto),
        configOptions: configOptions(chosen, models, allowsAuto)
      }
      session.settings = JSON.stringify(settings)
      return settings
    })
  }

  /** Changes how much a session may do without a question. */
  setMode(session: OpenSession, mode: string): Effect.Effect<void, Failure> {
    const { backend, host } = this.#around
    return mayChoose(mode, host.mode === "auto")
      ? Effect.asVoid(backend.sessions.setMode(session.root, mode))
      : Effect.fail(badRequest(
        mode === "auto"
          ? "The mode auto asks nothing: it can only be chosen where Skein was started with --mode auto."
          : `There is no mode ${mode}. Choose plan, ask or edits.`
      ))
  }

  /** Chooses the model for the next prompts of a session. */
  setModel(session: OpenSession, name: string): Effect.Effect<void, Failure> {
    const model = parseRef(name)
    if (model === undefined) return Effect.fail(badRequest(`A model is named provider/model, and ${name} is not.`))
    const { backend } = this.#around
    return Effect.gen(function*() {
      const { agent } = yield* backend.sessions.get(session.root)
      yield* backend.projects.of(session.root).modelFor(session.directory, { agent, model })
      session.model = model
    })
  }

  /** A page of the root sessions, latest change first; those of other directories are left out of it. */
  list(cwd: string | undefined, cursor: string | undefined): Effect.Effect<Listed, Failure> {
    const { backend, host } = this.#around
    if (cwd !== undefined && !isAbsolute(cwd)) return Effect.fail(relativePath(cwd))
    return Effect.flatMap(
      backend.sessions.list({ limit: mostListed, cursor }),
      ({ items, next }) =>
        Effect.map(
          Effect.filter(items, ({ directory }) =>
            cwd === undefined ? Effect.succeed(true) : host.isSameDirectory(directory, cwd)),
          (found) => ({ items: found, next })
        )
    )
  }

  /** Closes a session. One that is not open is closed already. */
  close(id: string): Effect.Effect<void> {
    const entry = this.#entries.get(id)
    if (entry === undefined) return Effect.void
    const { backend } = this.#around
    this.#entries.delete(id)
    const left = Effect.timeoutOption(Effect.disconnect(backend.sessions.leave(entry.session.root)), patience)
    return Effect.zipRight(
      Scope.close(entry.scope, Exit.void),
      Effect.catchAll(Effect.asVoid(left), (error) => Effect.logWarning("A session could not be left", error.message))
    )
  }

  /** Closes all of them. */
  get closeAll(): Effect.Effect<void> {
    return Effect.suspend(() =>
      Effect.forEach([...this.#entries.keys()], (id) => this.close(id), { concurrency: "unbounded", discard: true })
    )
  }

  /** Sees to it that a directory can be worked in; gives what is to be said. */
  #prepare(
    { additionalDirectories = [], cwd, mcpServers = [] }: OpenAt
  ): Effect.Effect<ReadonlyArray<string>, Failure> {
    const { host } = this.#around
    if (!isAbsolute(cwd)) return Effect.fail(relativePath(cwd))
    // It was never offered. A client that sends it anyway would believe that agents work there.
    if (additionalDirectories.length > 0) {
      return Effect.fail(
        badRequest("A session of Skein has one directory. Open one session for each, without additionalDirectories.")
      )
    }
    return Effect.zipRight(
      Effect.mapError(host.checkDirectory(cwd), ({ message }) => badRequest(message)),
      mcpServers.length === 0 ? Effect.succeed([]) : host.useServers(cwd, mcpServers)
    )
  }

  /** Watches a session; what happens is held back until it is released. */
  #open(root: SessionID, directory: string): Effect.Effect<OpenSession, BackendError> {
    const { asking, backend, beside, client, host } = this.#around
    return Effect.gen(this, function*() {
      const models = yield* Effect.orElseSucceed(
        backend.projects.of(root).models(directory),
        (): ReadonlyArray<ModelFact> => []
      )
      const sizes = new Map(models.map((model) => [formatRef(model), model.limit?.context]))
      const scope = yield* Scope.make()
      const session = new OpenSession({
        client,
        asking,
        backend,
        root,
        directory,
        contextOf: (model) => sizes.get(model),
        onSettings: (changed) => beside(Effect.ignoreLogged(this.#tellSettings(changed))),
        onGap: (changed) => beside(Effect.ignoreLogged(replay(backend, changed)))
      })
      session.hold()
      const files = filesOf(client, root, directory)
      yield* Effect.onError(
        Effect.gen(function*() {
          yield* backend.watch.tree(root, session.watcher)
          if (files !== undefined) session.later.push(...yield* host.useFiles(root, files))
        }).pipe(Scope.extend(scope)),
        () => Scope.close(scope, Exit.void)
      )
      this.#entries.set(root, { session, scope })
      return session
    })
  }

  /** Mode or model were changed, here or by another front end. */
  #tellSettings(session: OpenSession): Effect.Effect<void, BackendError> {
    const { client } = this.#around
    const before = session.settings
    return Effect.map(this.settings(session), ({ configOptions: options, modes }) => {
      if (session.settings === before) return
      const sessionId = session.root
      client.tell({ sessionId, update: { sessionUpdate: "current_mode_update", currentModeId: modes.currentModeId } })
      client.tell({ sessionId, update: { sessionUpdate: "config_option_update", configOptions: options } })
    })
  }
}
