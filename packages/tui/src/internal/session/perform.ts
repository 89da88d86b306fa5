/** Carries out what a session asks for, with the backend and the person's machine. */
import { Backend } from "@skein/backend/Backend"
import type { BackendError } from "@skein/backend/BackendError"
import { eachPage } from "@skein/backend/Sessions"
import type { MessageID, SessionID } from "@skein/domain/Id"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"
import type * as Scope from "effect/Scope"
import { randomUUID } from "node:crypto"
import { escapeLine } from "../../Escape.ts"
import { fit } from "../../Width.ts"
import { chosenAgent } from "../model/Facts.ts"
import { workingIn } from "../model/frame.ts"
import { TaskKeys } from "../model/keys.ts"
import type { Request } from "../model/Request.ts"
import type { SessionModel } from "../model/SessionModel.ts"
import { Reading } from "../model/Views.ts"
import { type Acting, filesElsewhere, heardStart, type Performer, type Stage, withFiles } from "./Acting.ts"
import { runCommand } from "./commands.ts"
import { keepModel } from "./opening.ts"
import { askRewind, goBack, listPrompts } from "./rewind.ts"
import { makeWatching } from "./watching.ts"

/** How often to try again after the backend has given up. It tries for itself before. */
const pace = "1 second"

/** How long a server may take to answer until that is said. */
const patience = "4 seconds"

/** Says that the server takes long, unless it is known to be away, and that what was typed is not lost. */
const sayLate = (
  { backend, model, touch }: Pick<Acting, "backend" | "model" | "touch">
): Effect.Effect<void> =>
  Effect.delay(
    Effect.sync(() => {
      if (model.facts.isAway === true || backend.where._tag === "Local") return
      model.say(
        `The server at ${backend.where.url} has not answered yet. Your prompt is sent as soon as it does, or to another server of its cluster.`
      )
      touch()
    }),
    patience
  )

/**
 * Tries to send a text until there is a server, and says once that it will. What is sent needs a key: a server that went away
 * may have it.
 */
export const onceBack = <A, R>(
  sending: Effect.Effect<A, BackendError, R>,
  text: string,
  { model, touch }: Pick<Acting, "model" | "touch">
): Effect.Effect<A, BackendError, R> =>
  Effect.suspend(() => {
    let isSaid = model.facts.isAway === true
    const isGone = ({ _tag }: BackendError) => _tag === "ServerGone"
    const promise = (error: BackendError) =>
      Effect.sync(() => {
        if (isSaid || !isGone(error)) return
        isSaid = true
        model.promise(text)
        touch()
      })
    return sending.pipe(
      Effect.tapError(promise),
      Effect.retry({ while: isGone, schedule: Schedule.spaced(pace) })
    )
  })

const ids = ({ live }: Acting["model"]): SessionID | undefined => live?.tree.root.id

const prompt = (
  acting: Acting,
  { after, text, typed }: Extract<Request, { readonly type: "prompt" }>
): Effect.Effect<void, BackendError> =>
  Effect.gen(function*() {
    const { beside, heard, host, model } = acting
    const arrived = model.sending.begin(text, acting.moment().steady)
    yield* Effect.addFinalizer(() => Effect.sync(arrived))
    yield* Effect.fork(sayLate(acting))
    // It is for the session that is open now, whichever is when it can be sent.
    const open = ids(model)
    const seesFiles = (yield* filesElsewhere(acting)) === undefined
    const { notes, refused } = yield* host.check({ directory: model.facts.directory, session: open, seesFiles }, typed)
    if (refused !== undefined) {
      model.input.set(text)
      model.hint = `${refused} Nothing was sent.`
      return
    }
    for (const note of notes) model.say(note)
    yield* beside(host.remember(model.facts.directory, text))
    let outputs: ReadonlyArray<string> = []
    // It was not sent: nothing of it may be lost.
    const putBack = Effect.sync(() => {
      heard.unshift(...outputs)
      if (model.input.isEmpty) model.input.set(text)
    })
    const send = Effect.gen(function*() {
      const id = open ?? (yield* onceBack(acting.ensure, text, acting))
      outputs = heard.splice(0)
      return yield* onceBack(
        acting.send(id, {
          key: randomUUID(),
          words: text.toWellFormed(),
          ...(outputs.length === 0 ? {} : { text: outputs.join("\n\n") }),
          ...(after === undefined ? {} : { after })
        }),
        text,
        acting
      )
    })
    // What is sent while the server is away arrives in the order in which it was typed.
    const prompted = yield* acting.sending.withPermits(1)(Effect.tapError(send, () => putBack))
    arrived()
    model.waiting.stored(prompted.messageID, { text, outputs })
    for (const note of prompted.notes) model.say(note)
    yield* beside(
      prompted.turn.pipe(
        Effect.catchAll((error) =>
          Effect.sync(() => {
            if (error._tag !== "SessionStopped") model.fail(error.message)
          })
        )
      )
    )
  }).pipe(Effect.scoped)

/** Takes a prompt back: it stands in the input again, unless an agent has it. */
const withdraw = ({ backend, heard, model }: Acting, message: MessageID): Effect.Effect<void, BackendError> =>
  Effect.gen(function*() {
    const id = ids(model)
    if (id === undefined) return
    const withdrawn = yield* backend.sessions.withdraw(id, message)
    const sent = model.waiting.taken(message)
    if (withdrawn.status === "gone") {
      model.hint = "It does not wait any more: the agent has it, or somebody else took it back."
      return
    }
    heard.unshift(...sent?.outputs ?? [])
    const text = sent?.text ?? withdrawn.text
    model.input.set(model.input.isEmpty ? text : `${text}\n${model.input.whole}`)
  })

/** Reads the names of files that can be completed. */
const listFiles = (acting: Acting): Effect.Effect<void> =>
  Effect.gen(function*() {
    const { host, model } = acting
    const elsewhere = yield* filesElsewhere(acting)
    if (elsewhere !== undefined && model.facts.files === undefined) {
      model.say(
        `The files of this session are on ${elsewhere}, and are not listed here. Write the path behind @: the server attaches it.`
      )
    }
    model.facts.files = elsewhere === undefined ? yield* host.files(model.facts.directory) : []
    model.refreshMenu()
  })

const shell = (acting: Acting, command: string): Effect.Effect<void> =>
  Effect.gen(function*() {
    const { heard, host, model, size } = acting
    model.hint = `Running: ${escapeLine(command)}`
    acting.touch()
    const { exit, output } = yield* host.shell(model.facts.directory, command)
    model.hint = ""
    const { columns } = size()
    const lines = output.trim() === "" ? [] : output.trimEnd().split("\n")
    const tail = lines.slice(-20)
    model.print([
      model.style.bold(fit(`! ${escapeLine(command)}`, columns - 1)),
      ...(lines.length > tail.length ? [model.style.dim(`    … ${lines.length - tail.length} lines before`)] : []),
      ...tail.map((line) => model.style.dim(fit(`    ${escapeLine(line.slice(0, 1_000))}`, columns - 1))),
      exit === 0 ? model.style.dim("    exit code 0") : model.style.red(`    exit code ${exit}`)
    ])
    heard.push(`${heardStart}${command}\` (exit code ${exit}):\n${output.slice(-20_000)}`)
  })

const reply = ({ backend, model }: Acting, { reply: given }: Extract<Request, { readonly type: "reply" }>) =>
  Effect.gen(function*() {
    if (given.kind === "permission") {
      const { id, message, reply: answer, scope } = given
      return yield* backend.asks.reply(id, answer, { scope, ...(message === undefined ? {} : { message }) })
    }
    return yield* given.answers === undefined
      ? backend.asks.dismiss(given.id)
      : backend.asks.answer(given.id, given.answers)
  }).pipe(
    // Somebody else may have answered it, or its agent may be gone: then there is nothing left to answer.
    Effect.catchAll((error) =>
      error._tag === "PermissionNotFound" || error._tag === "QuestionNotFound"
        ? Effect.void
        : Effect.sync(() => model.fail(error.message))
    )
  )

const transcript = ({ backend, model, size, touch }: Acting, id: SessionID): Effect.Effect<void, BackendError> =>
  Effect.gen(function*() {
    const session = yield* backend.sessions.get(id)
    const { live } = model
    if (live === undefined) return
    const reading = new Reading(session, new TaskKeys(() => live.tree), model.style, () => size().columns)
    model.views.follow(reading)
    yield* eachPage(
      (page) => backend.sessions.messages(id, page),
      (messages) => Effect.sync(() => reading.recall(messages))
    )
    reading.follow()
    model.views.page(reading.pager)
    touch()
  })

const quit = ({ backend, left, model, touch }: Acting): Effect.Effect<void, BackendError> =>
  Effect.gen(function*() {
    const id = ids(model)
    const end = Deferred.succeed(left, { session: id })
    if (id === undefined || model.live === undefined || !model.isWorking) return yield* Effect.asVoid(end)
    const { background } = workingIn(model.live.tree)
    const isServed = backend.where._tag === "Server"
    // Also where it cannot be stopped, because another process works in it.
    const stop = backend.sessions.stop(id, "the user").pipe(Effect.timeoutOption(5_000), Effect.ensuring(end))
    if (background === 0 && !isServed) return yield* Effect.asVoid(stop)
    const work = background === 0
      ? "The turn is under way."
      : `${background} ${background === 1 ? "agent works" : "agents work"} in the background.`
    model.views.confirmLeaving(work, [
      { value: "stay", label: "Stay here" },
      ...(isServed ? [{ value: "leave", label: "Quit, and leave it running on the server" }] : []),
      { value: "stop", label: "Stop it, and quit" }
    ], (value) => {
      if (value === "leave") model.request({ type: "leave" })
      if (value === "stop") model.request({ type: "stopAndQuit" })
    })
    touch()
  })

const carryOut = (acting: Acting, request: Request): Effect.Effect<void, BackendError> => {
  const { backend, host, left, lend, model, signals, touch } = acting
  const id = ids(model)
  switch (request.type) {
    case "prompt":
      return prompt(acting, request)
    case "command":
      return runCommand(acting, request)
    case "shell":
      return withFiles(
        acting,
        (place) => `Nothing was run: commands behind ! run on this machine, and the session works on ${place}.`,
        shell(acting, request.command)
      )
    case "reply":
      return reply(acting, request)
    case "mode":
      return Effect.suspend(() => {
        if (id === undefined) return Effect.sync(() => model.mode.keep(request.mode))
        return Effect.map(backend.sessions.setMode(id, request.mode), (session) => model.mode.learn(session))
      }).pipe(Effect.ensuring(Effect.sync(() => model.mode.settle())))
    case "promote":
      return Effect.forEach(request.tasks, (task) => backend.tasks.promote(task), { discard: true })
    case "stop":
      return id === undefined
        ? Effect.void
        : Effect.zipRight(
          backend.sessions.stop(id, "the user"),
          Effect.sync(() => model.say("Interrupted. What next?"))
        )
    case "withdraw":
      return withdraw(acting, request.message)
    case "resumeTask":
      return Effect.asVoid(backend.tasks.message(request.task, "Continue where you left off."))
    case "stopTask":
      return Effect.asVoid(backend.tasks.stop(request.task))
    case "messageTask":
      return Effect.asVoid(backend.tasks.message(request.task, request.text))
    case "transcript":
      return transcript(acting, request.session)
    case "open":
      return acting.open(request.session)
    case "listPrompts":
      return listPrompts(acting)
    case "askRewind":
      return askRewind(acting, request.prompt)
    case "rewind":
      return goBack(acting, request)
    case "keepModel":
      return keepModel(acting, request.model)
    case "files":
      return listFiles(acting)
    case "edit":
      return Effect.gen(function*() {
        const text = yield* lend(host.edit(request.text))
        if (text === undefined) model.hint = "Set VISUAL or EDITOR to the editor that Ctrl+G opens."
        else model.input.set(text.replace(/\n$/, ""))
      })
    case "notify":
      return Effect.sync(() => signals.notify(request.text))
    case "quit":
      return quit(acting)
    case "leave":
      return Effect.asVoid(Deferred.succeed(left, { session: id, isLeft: true }))
    case "stopAndQuit":
      return Effect.gen(function*() {
        if (id !== undefined) yield* Effect.timeoutOption(backend.sessions.stop(id, "the user"), 5_000)
      }).pipe(Effect.ensuring(Deferred.succeed(left, { session: id })), Effect.ensuring(Effect.sync(touch)))
  }
}

/** What does not wait for the session that is being opened. */
const needsNoSession: ReadonlySet<Request["type"]> = new Set(["edit", "files", "keepModel", "leave", "notify", "quit"])

/**
 * Stops what works in this process for the session, because the program ends without having been asked to. Without that its
 * prompts would count as abandoned by who sent them.
 */
const stopAtEnd = (backend: typeof Backend.Service, model: SessionModel) =>
  Effect.suspend(() => {
    const id = ids(model)
    return id === undefined || !model.isWorking || backend.where._tag === "Server"
      ? Effect.void
      : Effect.ignoreLogged(Effect.timeoutOption(backend.sessions.stop(id, "the user"), 5_000))
  })

/** Sends prompts. The files of the command line go with the first one, and its limits with the first one of each session. */
const makeSend = ({ asked, model }: Stage, { sessions }: typeof Backend.Service): Acting["send"] => {
  const files = [...asked.files]
  const limited = new Set<SessionID>()
  return (id, asking) =>
    Effect.gen(function*() {
      const agent = chosenAgent(model.facts)
      const { model: chosen } = model.facts.choice
      const parts = [...files]
      const limit = limited.has(id) ? undefined : asked.budget
      const prompted = yield* sessions.prompt(id, {
        ...asking,
        ...(agent === undefined ? {} : { agent }),
        ...(chosen === undefined ? {} : { model: chosen }),
        ...(parts.length === 0 ? {} : { parts }),
        ...(limit === undefined ? {} : { budget: { ...(yield* sessions.get(id)).budget?.limit, ...limit } })
      })
      limited.add(id)
      files.splice(0, parts.length)
      return prompted
    })
}

/** Makes what carries requests out, each beside the others. */
export const makePerformer = (stage: Stage): Effect.Effect<Performer, never, Backend | Scope.Scope> =>
  Effect.gen(function*() {
    const { model, moment, touch } = stage
    const backend = yield* Backend
    const scope = yield* Effect.scope
    const { close, make, open } = yield* makeWatching(model, moment, touch)
    const making = yield* Effect.makeSemaphore(1)
    const sending = yield* Effect.makeSemaphore(1)
    const send = makeSend(stage, backend)
    let { title } = stage.asked
    const beside = <E extends { readonly message: string }>(effect: Effect.Effect<unknown, E>) =>
      effect.pipe(
        Effect.catchAll((error) => Effect.sync(() => model.fail(error.message))),
        Effect.ensuring(Effect.sync(touch)),
        Effect.forkIn(scope),
        Effect.asVoid
      )
    const ensure = making.withPermits(1)(Effect.suspend(() => {
      const id = ids(model)
      if (id !== undefined) return Effect.succeed(id)
      const { choice, directory, mode } = model.facts
      const agent = chosenAgent(model.facts)
      return Effect.map(
        make({
          directory,
          ...(mode === "ask" ? {} : { mode }),
          ...(agent === undefined ? {} : { agent }),
          ...(choice.model === undefined ? {} : { model: choice.model }),
          ...(title === undefined ? {} : { title })
        }),
        (session) => {
          title = undefined
          return session.id
        }
      )
    }))
    // A session has an agent and a model of its own: what was chosen for another one ends with that.
    const change = (id: SessionID) =>
      Effect.zipRight(
        Effect.sync(() => {
          Object.assign(model.facts.choice, { agent: undefined, model: undefined })
          model.facts.files = undefined
        }),
        open(id)
      )
    const acting: Acting = { ...stage, backend, heard: [], open: change, close, ensure, beside, sending, send }
    const isOpened = yield* Effect.makeLatch()
    const modes = yield* Effect.makeSemaphore(1)
    // Modes are changed one after the other, and what is sent behind a change happens in that mode.
    const inMode = (request: Request) => {
      const work = carryOut(acting, request)
      if (request.type === "mode") return modes.withPermits(1)(work)
      return request.type === "prompt" || request.type === "command"
        ? Effect.zipRight(modes.withPermits(1)(Effect.void), work)
        : work
    }
    const perform = (request: Request) => {
      const work = inMode(request)
      return beside(needsNoSession.has(request.type) ? work : isOpened.whenOpen(work))
    }
    yield* Effect.addFinalizer(() => stopAtEnd(backend, model))
    return { perform, open, opened: Effect.asVoid(isOpened.open) }
  })
