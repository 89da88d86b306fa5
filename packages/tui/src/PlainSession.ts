/** Runs a session in lines: what happens is printed, and what is typed is read line by line. Nothing moves the cursor. */
import type { Backend } from "@skein/backend/Backend"
import type { BackendError } from "@skein/backend/BackendError"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import { createInterface } from "node:readline"
import type { Readable } from "node:stream"
import { escapeLine } from "./Escape.ts"
import { factsOf, momentOf } from "./internal/model/Facts.ts"
import { SessionModel } from "./internal/model/SessionModel.ts"
import { PlainTalk, wide } from "./internal/plain/PlainTalk.ts"
import { loadFacts, opening } from "./internal/session/opening.ts"
import { makePerformer } from "./internal/session/perform.ts"
import type { SessionHost, SessionLeft, SessionRequest } from "./SessionHost.ts"
import { colourless } from "./Style.ts"

/** A terminal that prints lines and gives lines. */
export interface LineTerminal {
  readonly input: Readable
  readonly write: (text: string) => void
  /** Ctrl+C, as a signal, until the scope closes. */
  readonly onInterrupt: (listener: () => void) => Effect.Effect<void, never, Scope.Scope>
}

/** How often the clock is read while nothing happens, in milliseconds. */
const pace = 100

/** Reads lines until the scope closes; the line that is asked for first gets the first one. */
const lines = (
  { input }: LineTerminal,
  onLine: (line: string) => void,
  onClosed: () => void
): Effect.Effect<void, never, Scope.Scope> =>
  Effect.asVoid(Effect.acquireRelease(
    Effect.sync(() => createInterface({ input, terminal: false }).on("line", onLine).on("close", onClosed)),
    (reader) => Effect.sync(() => reader.removeAllListeners().close())
  ))

/** Asks one question by number; undefined where nobody answers. */
export const confirmPlain = (
  terminal: LineTerminal,
  title: string,
  about: ReadonlyArray<string>,
  items: ReadonlyArray<{ readonly value: string; readonly label: string }>
): Effect.Effect<string | undefined> =>
  Effect.scoped(Effect.gen(function*() {
    const answer = yield* Deferred.make<string | undefined>()
    const end = (value: string | undefined) => Deferred.unsafeDone(answer, Effect.succeed(value))
    const ask = "Write a number and Enter."
    yield* lines(terminal, (line) => {
      const { value } = items[Number(line.trim()) - 1] ?? {}
      if (value === undefined) terminal.write(`${ask}\n`)
      else end(value)
    }, () => end(undefined))
    const choices = items.map(({ label }, at) => `  ${at + 1} ${escapeLine(label)}`)
    terminal.write([...about.map(escapeLine), escapeLine(title), ...choices, ask, ""].join("\n"))
    return yield* Deferred.await(answer)
  }))

/** Opens a session. Ends when the person leaves, or there are no more lines. */
export const openPlainSession = (
  terminal: LineTerminal,
  host: SessionHost,
  asked: SessionRequest
): Effect.Effect<SessionLeft, BackendError, Backend | Scope.Scope> =>
  Effect.gen(function*() {
    const model = new SessionModel(colourless, yield* factsOf(asked))
    model.columns = wide
    const talk = new PlainTalk(model)
    const moment = yield* momentOf
    const changed = yield* Effect.makeLatch()
    const left = yield* Deferred.make<SessionLeft>()
    const touch = () => changed.unsafeOpen()
    const tell = () => {
      const news = talk.news(moment())
      if (news.length > 0) terminal.write(`${news.join("\n")}\n`)
    }
    const performer = yield* makePerformer({
      model,
      host,
      asked,
      size: () => ({ columns: wide, rows: wide }),
      signals: { notify: () => undefined, copy: () => false },
      lend: (use) => use,
      touch,
      moment,
      left
    })
    yield* Effect.addFinalizer(() => Effect.sync(tell))
    for (const note of asked.notes) model.say(note)
    yield* terminal.onInterrupt(() => {
      model.interrupted(moment())
      touch()
    })
    yield* lines(terminal, (line) => {
      talk.take(line, moment())
      touch()
    }, () => {
      // Nobody can be asked any more.
      model.request({ type: "stopAndQuit" })
      touch()
    })
    const requests = Effect.suspend(() => Effect.forEach(model.take(), performer.perform, { discard: true }))
    yield* Effect.forkScoped(Effect.forever(
      Effect.suspend(() => Effect.timeoutOption(changed.await, pace)).pipe(
        Effect.zipRight(changed.close),
        Effect.zipRight(requests),
        Effect.zipRight(Effect.sync(tell))
      )
    ))
    yield* Effect.forkScoped(loadFacts(model, host, asked, touch))
    yield* opening(model, performer, asked)
    touch()
    return yield* Deferred.await(left)
  })
