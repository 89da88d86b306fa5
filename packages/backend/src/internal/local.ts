/** The sessions of this process, their questions, tasks, projects and events, as front ends see them. */
import { Agent } from "@skein/core/Agent"
import { Bus, type BusFilter } from "@skein/core/Bus"
import { Command } from "@skein/core/Command"
import { Config } from "@skein/core/Config"
import { answerAnywhere } from "@skein/core/Control"
import { Instructions, Skill } from "@skein/core/Instructions"
import { Leases } from "@skein/core/Leases"
import { modelFor } from "@skein/core/ModelChoice"
import type { Permission } from "@skein/core/Permission"
import { beginPrompt, restedTurn, turnAnswering } from "@skein/core/PersonPrompt"
import { Projects, type ProjectServices } from "@skein/core/Projects"
import { Provider } from "@skein/core/Provider"
import type { Question } from "@skein/core/Question"
import { Session } from "@skein/core/Session"
import { exportStream, unreadableOf } from "@skein/core/SessionArchive"
import {
  approvalsOf,
  asksOf,
  childrenOf,
  findSession,
  findTask,
  findTaskOrRun,
  newestRuns,
  rootSessions,
  runsBelow,
  shown,
  snapshotOf
} from "@skein/core/SessionLookup"
import { SessionStorage } from "@skein/core/SessionStorage"
import type { ManyServices } from "@skein/core/Skein"
import { StorageError } from "@skein/core/StorageError"
import { messagesPage } from "@skein/core/StorageFilter"
import type { Tasks } from "@skein/core/Tasks"
import { PromptInvalid, type PromptOptions } from "@skein/core/Turn"
import type { Event } from "@skein/domain/Event"
import { MessageID, type SessionID } from "@skein/domain/Id"
import type { TaskRun } from "@skein/domain/Outcome"
import type { SessionInfo } from "@skein/domain/SessionInfo"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import { createHash } from "node:crypto"
import type { Asking, TaskControl } from "../Backend.ts"
import type { ProjectFacts } from "../ProjectFacts.ts"
import type { NewPrompt, NewSession, Prompted, Sessions } from "../Sessions.ts"
import type { Watcher } from "../Watching.ts"

/** What they share. */
export interface Local {
  /** Provides the services of the process. */
  readonly given: <A, E, R extends ManyServices | Scope.Scope>(
    effect: Effect.Effect<A, E, R>
  ) => Effect.Effect<A, E, Exclude<R, ManyServices>>
  /** The project of a directory, by which approvals are keyed. */
  readonly projectOf: (directory: string) => Effect.Effect<string>
}

/**
 * Whether anything of the tree is still running: a task, an unread notification, or a turn that a notification began.
 */
const isAtWork = Effect.fnUntraced(function*(id: SessionID) {
  const storage = yield* SessionStorage
  const { rootID, turn } = yield* findSession(id)
  const { rows } = yield* storage.runs({ rootID, unsettled: true })
  if (rows.length > 0 || (yield* storage.inbox(id)).rows.length > 0) return true
  return turn !== undefined && turn.ended === undefined
})

/** Leaves it, and returns the background runs that this interrupts. */
const leave = Effect.fnUntraced(function*(id: SessionID) {
  const nothing: ReadonlyArray<TaskRun> = []
  if (!(yield* isAtWork(id))) return nothing
  return yield* Effect.flatMap(Session, (session) => session.leave(id))
})

const digestOf = (id: SessionID, { agent, command, model, parts, text, words }: NewPrompt): string =>
  createHash("sha256").update(JSON.stringify([id, words, command, text, parts, agent, model])).digest("hex")

const optionsOf = (id: SessionID, prompt: NewPrompt): PromptOptions => {
  const { after, agent, budget, key, model } = prompt
  return {
    ...(after === undefined ? {} : { after }),
    ...(agent === undefined ? {} : { agent }),
    ...(model === undefined ? {} : { model }),
    ...(budget === undefined ? {} : { budget }),
    ...(key === undefined ? {} : { receipt: { key, digest: digestOf(id, prompt) } })
  }
}

/** Prompts, and continues in the scope even if its caller stops waiting. */
const begin = Effect.fnUntraced(function*(id: SessionID, prompt: NewPrompt, scope: Scope.Scope) {
  const { rootID } = yield* findSession(id)
  return yield* beginPrompt({
    id,
    rootID,
    prompt,
    options: optionsOf(id, prompt),
    unattended: prompt.unattended,
    scope
  })
})

/** The prompt that was stored under a key, if any. */
const storedBefore = Effect.fnUntraced(function*(id: SessionID, key: string, prompt: NewPrompt) {
  const storage = yield* SessionStorage
  const receipt = Option.getOrUndefined(yield* storage.receipt(key))
  if (receipt === undefined) return undefined
  if (receipt.digest !== digestOf(id, prompt)) {
    return yield* new PromptInvalid({
      message: `The key ${key} was sent with another prompt within 24 hours. Make a new key for each prompt.`
    })
  }
  return MessageID.make(receipt.result)
})

/** Makes the function that prompts. Its prompts continue in the scope. */
const makePrompt = (scope: Scope.Scope) => {
  const storing = new Map<string, Effect.Semaphore>()
  return Effect.fnUntraced(function*(id: SessionID, prompt: NewPrompt) {
    const { key } = prompt
    if (key === undefined) return yield* begin(id, prompt, scope)
    const services = yield* Effect.context<Bus | Session | SessionStorage>()
    const turn = storing.get(key) ?? Effect.unsafeMakeSemaphore(1)
    storing.set(key, turn)
    return yield* Effect.gen(function*() {
      const messageID = yield* storedBefore(id, key, prompt)
      return messageID === undefined ? yield* begin(id, prompt, scope) : {
        messageID,
        notes: [],
        turn: Effect.provide(turnAnswering(id, messageID), services)
      } satisfies Prompted
    }).pipe(turn.withPermits(1), Effect.ensuring(Effect.sync(() => storing.delete(key))))
  })
}

/** Refuses to export a tree of which rows cannot be read. */
const checkReadable = Effect.fnUntraced(function*(id: SessionID) {
  const [first, ...more] = yield* unreadableOf(id)
  if (first === undefined) return
  return yield* new StorageError({
    operation: "export",
    reason: "unreadable",
    message:
      `${first.id} and ${more.length} more rows of the tree cannot be read (${first.reason}). \`skein sessions export\` leaves them out.`
  })
})

/** Makes them. */
export const makeSessions = (
  { given, projectOf }: Local,
  session: typeof Session.Service,
  storage: typeof SessionStorage.Service,
  scope: Scope.Scope
): Sessions => {
  const prompt = makePrompt(scope)
  return {
    create: (options: NewSession) =>
      Effect.flatMap(projectOf(options.directory), (projectID) => session.create({ ...options, projectID })),
    get: (id) => given(Effect.flatMap(findSession(id), shown)),
    list: ({ directory, projectID, ...page }) =>
      given(Effect.flatMap(
        directory === undefined || projectID !== undefined ? Effect.succeed(projectID) : projectOf(directory),
        (project) => rootSessions(project, page)
      )),
    ids: (of, start, limit) => storage.ids(of, start, limit),
    children: (id, page) => given(childrenOf(id, page)),
    messages: (id, page) =>
      Effect.map(
        session.messagePage(
          id,
          "newest" in page
            ? { ...messagesPage, limit: page.newest, before: page.before }
            : {
              ...messagesPage,
              limit: page.limit ?? messagesPage.limit,
              after: page.cursor as MessageID | undefined ?? ""
            }
        ),
        ({ next, rows }) => ({ items: rows, next })
      ),
    archive: (id) =>
      Stream.unwrap(
        Effect.as(given(checkReadable(id)), Stream.provideService(exportStream(id), SessionStorage, storage))
      ),
    rename: (id, title) => session.rename(id, title),
    remove: (id) => session.remove(id),
    fork: (id, messageID) => session.fork(id, messageID === undefined ? {} : { messageID }),
    compact: (id) => session.compact(id),
    summarize: (id) => session.summarize(id),
    setMode: (id, mode) => session.setMode(id, mode),
    prompt: (id, input) => given(prompt(id, input)),
    withdraw: (id, messageID) => session.withdraw(id, messageID),
    stop: (id, by) => session.stop(id, by),
    resume: (id) => session.resume(id, { anew: true }),
    rest: (id) => given(restedTurn(id)),
    summarized: (id) => session.summarized(id),
    leave: (id) => given(leave(id))
  }
}

/** Makes them. */
export const makeAsks = (
  { given }: Local,
  permission: typeof Permission.Service,
  question: typeof Question.Service
): Asking => ({
  pending: (session, page) => given(asksOf(session, page)),
  reply: (id, answer, options) =>
    given(answerAnywhere({ type: "reply", id, answer, ...options }, permission.reply(id, answer, options))),
  answer: (id, answers) => given(answerAnywhere({ type: "answer", id, answers }, question.reply(id, answers))),
  dismiss: (id) => given(answerAnywhere({ type: "dismiss", id }, question.dismiss(id))),
  approvals: (projectID, session, page) => given(approvalsOf(projectID, session, page)),
  revoke: (projectID, id) => permission.revoke(projectID, id)
})

/** Makes them. */
export const makeTaskControl = (
  { given }: Local,
  tasks: typeof Tasks.Service,
  storage: typeof SessionStorage.Service
): TaskControl => ({
  list: (session, page) => given(runsBelow(session, page)),
  newest: (page) => given(newestRuns(page)),
  get: (id) =>
    given(Effect.gen(function*() {
      const { parentID, taskID } = yield* findTaskOrRun(id)
      const { rows: runs } = yield* storage.runs({ taskID })
      const [status] = yield* tasks.status({ parentID, taskID })
      return { runs, doing: status?.doing ?? "" }
    })),
  stop: (id, reason) =>
    given(
      Effect.flatMap(findTask(id), (task) =>
        tasks.stop(task, { by: "the user", ...(reason === undefined ? {} : { reason }) }))
    ),
  message: (id, message) =>
    given(
      Effect.flatMap(findTask(id), (task) =>
        Effect.map(tasks.message(task, message), (told) =>
          told === "steered" ? { status: told } as const : told))
    ),
  promote: (id) => given(Effect.flatMap(findTask(id), (task) => Effect.asVoid(tasks.promote(task)))),
  wait: (id, timeout) =>
    given(Effect.flatMap(findTask(id), ({ parentID, taskID }) => tasks.wait({ parentID, taskIDs: [taskID], timeout })))
})

/** Makes it. */
export const makeProjects = ({ given }: Local, command: typeof Command.Service): ProjectFacts => {
  const inProject = <A, E>(directory: string, effect: Effect.Effect<A, E, ProjectServices>) =>
    given(Projects.use(directory, effect))
  const facts: ProjectFacts = {
    of: () => facts,
    agents: (directory) =>
      inProject(
        directory,
        Effect.zipWith(Agent, Config, ({ all }, { settings }) => ({
          agents: all,
          defaultAgent: settings.default_agent
        }))
      ),
    agent: (directory, name) =>
      Effect.mapError(
        inProject(directory, Effect.flatMap(Agent, (agents) => agents.get(name))),
        (error) =>
          error._tag === "AgentNotFound" && error.fault !== undefined
            ? { _tag: error._tag, message: error.message, reason: "broken" } as const
            : error
      ),
    commands: (directory, options) =>
      Effect.map(command.list(directory, options), ({ broken, commands }) => ({ items: commands, broken })),
    command: (directory, name) => command.get(directory, name),
    skills: (directory) =>
      inProject(
        directory,
        Effect.flatMap(Skill, (skill) =>
          Effect.map(skill.list(directory), ({ broken, skills }) => ({ items: skills, broken })))
      ),
    models: (directory) => inProject(directory, Effect.flatMap(Provider, ({ list }) => list)),
    modelFor: (directory, { agent, model }) => inProject(directory, modelFor(model, agent)),
    instructions: (directory) =>
      inProject(directory, Effect.flatMap(Instructions, (instructions) => instructions.of(directory)))
  }
  return facts
}

/** How many events may wait for a snapshot. After one more, a newer snapshot is read instead. */
const mostHeld = 10_000

const filterOf = (of: { readonly rootID: SessionID } | { readonly all: true }, { deltas }: Watcher): BusFilter =>
  deltas === false ? { ...of, deltas } : of

/** Events that arrived before the snapshot. */
class Held {
  events: Array<Event> = []
  isOverflown = false

  take(event: Event): void {
    if (this.events.length < mostHeld) this.events.push(event)
    else this.isOverflown = true
  }

  clear(): void {
    this.events = []
    this.isOverflown = false
  }
}

/** How often to look for what other processes have stored (ms). */
const pace = 1_000

/** Reads the events of a tree that another process works in: they do not arrive on the bus. */
const followOthers = (rootID: SessionID, since: () => number, hear: (event: Event) => void) =>
  Effect.gen(function*() {
    const storage = yield* SessionStorage
    const leases = yield* Leases
    const look = Effect.gen(function*() {
      for (const { event, seq } of yield* storage.events({ after: since(), rootID })) hear({ ...event, seq })
    }).pipe(
      Effect.catchAll((error) => Effect.logDebug("Events of another process could not be read", error.message)),
      Effect.unless(() => leases.epoch(rootID) > 0)
    )
    yield* Effect.forever(Effect.zipRight(Effect.sleep(pace), look))
  })

/** Watches the tree of a session from now on. */
export const watchTree = Effect.fnUntraced(function*(id: SessionID, watcher: Watcher) {
  const bus = yield* Bus
  const { rootID } = yield* findSession(id)
  const { snapshot: show } = watcher
  if (show === undefined) return yield* bus.listen(filterOf({ rootID }, watcher), watcher.event, watcher.pressure)
  const held = new Held()
  let since: number | undefined
  const hear = (event: Event) => {
    // A commit that the snapshot includes may be published after it.
    if (event.seq !== undefined && event.seq <= (since ?? 0)) return
    since = event.seq ?? since
    watcher.event(event)
  }
  yield* bus.listen(
    filterOf({ rootID }, watcher),
    (event) => since === undefined ? held.take(event) : hear(event),
    watcher.pressure
  )
  let snapshot = yield* snapshotOf(rootID)
  while (held.isOverflown) {
    held.clear()
    snapshot = yield* snapshotOf(rootID)
  }
  since = snapshot.seq
  show(snapshot)
  for (const event of held.events) hear(event)
  held.clear()
  yield* Effect.forkScoped(followOthers(rootID, () => since ?? 0, hear))
})

/**
 * Creates a session and watches its tree from its first event. Events of other new trees are held until it is known
 * which tree is its own.
 */
export const watchMade = Effect.fnUntraced(function*<E, R>(
  making: Effect.Effect<SessionInfo, E, R>,
  watcher: Omit<Watcher, "snapshot">
) {
  const bus = yield* Bus
  const begun = new Map<SessionID, Array<Event>>()
  let rootID: SessionID | undefined
  let since = 0
  const hear = (event: Event) => {
    if (event.seq !== undefined && event.seq <= since) return
    since = event.seq ?? since
    watcher.event(event)
  }
  yield* bus.listen(filterOf({ all: true }, watcher), (event) => {
    if (event.rootID === rootID) return hear(event)
    if (rootID !== undefined) return
    if (event.type === "session.created" && event.depth === 0) begun.set(event.rootID, [])
    begun.get(event.rootID)?.push(event)
  }, watcher.pressure)
  const made = yield* making
  rootID = made.rootID
  for (const event of begun.get(rootID) ?? []) hear(event)
  begun.clear()
  yield* Effect.forkScoped(followOthers(rootID, () => since, hear))
  return made
})
