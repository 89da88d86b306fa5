/** Runs a session at a terminal until the person leaves it. */
import type { Backend } from "@skein/backend/Backend"
import type { BackendError } from "@skein/backend/BackendError"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import { frameOf } from "./internal/model/frame.ts"
import { SessionModel } from "./internal/model/SessionModel.ts"
import type { Signals } from "./internal/session/Acting.ts"
import { loadFacts, opening } from "./internal/session/opening.ts"
import { makePerformer } from "./internal/session/perform.ts"
import { factsOf, momentOf } from "./internal/session/start.ts"
import { askBackground, isLight, isReply, patience } from "./internal/terminal/background.ts"
import type { Key } from "./Key.ts"
import { endEditor, keys } from "./Keyboard.ts"
import { Screen } from "./Screen.ts"
import type { SessionHost, SessionLeft, SessionRequest, SessionTerminal } from "./SessionHost.ts"
import { coloured, onLight } from "./Style.ts"

/** How long a frame stays, in milliseconds: where nothing is typed, and where it is. */
const pace = { events: 34, keys: 8 }

/** How often clocks go on by themselves, in milliseconds. */
const tick = 1_000

/** While more waits to be written, no frame is drawn: the newest one follows, in characters. */
const mostWaiting = 64 * 1_024

/** The screen, which is given back when the scope closes, whatever happened. */
const screenOf = (model: SessionModel, terminal: SessionTerminal) =>
  Effect.gen(function*() {
    const screen = new Screen({
      write: terminal.write,
      columns: () => terminal.size().columns,
      rows: () => terminal.size().rows,
      reflow: terminal.reflow
    })
    const restore = () => {
      screen.close()
      terminal.write(endEditor)
    }
    // Also where the process ends at once: a terminal without a cursor is no use.
    yield* Effect.acquireRelease(
      Effect.sync(() => process.once("exit", restore)),
      () => Effect.sync(() => process.off("exit", restore))
    )
    yield* Effect.addFinalizer(() => Effect.sync(() => screen.close(model.live?.finish() ?? [])))
    return screen
  })

/** Draws what has changed, at most thirty times a second, and while clocks go on. */
const drawing = (model: SessionModel, terminal: SessionTerminal, changed: Effect.Latch, draw: () => void) =>
  Effect.forever(
    Effect.suspend(() => Effect.timeoutOption(changed.await, model.live?.dialogs.isEmpty === false ? 100 : tick)).pipe(
      Effect.zipRight(changed.close),
      Effect.zipRight(Effect.sync(() => {
        if (terminal.waiting() < mostWaiting) draw()
        else changed.unsafeOpen()
      })),
      Effect.zipRight(Effect.sleep(pace.events))
    )
  )

/** By the terminal, because then they work over SSH as well: OSC 9 notifies, OSC 52 copies. */
const signalsOf = ({ write }: SessionTerminal): Signals => ({
  notify: (text) => write(`\x07\x1b]9;Skein: ${text}\x07`),
  copy: (text) => {
    write(`\x1b]52;c;${Buffer.from(text).toString("base64")}\x07`)
    return true
  }
})

/** Draws again in another size, and takes in what the program would write across the screen. */
const heeding = (model: SessionModel, terminal: SessionTerminal, touch: () => void) =>
  Effect.zipRight(
    terminal.onResize(touch),
    terminal.onLine((line) => {
      model.say(line)
      touch()
    })
  )

/** Opens a session. Ends when the person leaves, or the terminal is closed. */
export const openSession = (
  terminal: SessionTerminal,
  host: SessionHost,
  asked: SessionRequest
): Effect.Effect<SessionLeft, BackendError, Backend | Scope.Scope> =>
  Effect.gen(function*() {
    const model = new SessionModel(terminal.style, yield* factsOf(asked))
    const moment = yield* momentOf
    const screen = yield* screenOf(model, terminal)
    const changed = yield* Effect.makeLatch()
    const asking = yield* Effect.makeLatch()
    const left = yield* Deferred.make<SessionLeft>()
    const touch = () => {
      changed.unsafeOpen()
      asking.unsafeOpen()
    }
    const draw = () => {
      const frame = frameOf(model, terminal.size(), moment())
      if (frame.type === "full") screen.drawFull(frame.lines)
      else screen.draw(frame.above, frame.below, frame.cursor)
    }
    const performer = yield* makePerformer({
      model,
      host,
      asked,
      size: terminal.size,
      signals: signalsOf(terminal),
      screen,
      touch,
      moment,
      left
    })
    let drawnAt = Number.NEGATIVE_INFINITY
    const isAnswered = yield* Deferred.make<void>()
    const onReply = (key: Key) => {
      // A terminal without colours stays without them.
      if (key.type === "background" && isLight(key.color) && terminal.style === coloured) model.style = onLight
      Deferred.unsafeDone(isAnswered, Effect.void)
    }
    const onKeys = (all: ReadonlyArray<Key>) => {
      const { steady } = moment()
      all.filter(isReply).forEach(onReply)
      const read = all.filter((key) => !isReply(key))
      if (read.length === 0) return
      model.press(read, moment())
      asking.unsafeOpen()
      // What a key does is seen at once.
      if (steady - drawnAt >= pace.keys) draw()
      else changed.unsafeOpen()
      drawnAt = steady
    }
    for (const note of asked.notes) model.say(note)
    yield* keys(terminal.keyboard, {
      write: terminal.write,
      isEditor: true,
      onKeys,
      onSuspend: () => screen.close(),
      onResume: () => {
        screen.forget()
        touch()
      },
      onClosed: () => Deferred.unsafeDone(left, Effect.succeed({ session: model.live?.tree.root.id }))
    })
    // Not before the terminal takes keys one by one: what is typed at a prompt must not be echoed.
    draw()
    yield* heeding(model, terminal, touch)
    const requests = Effect.suspend(() => Effect.forEach(model.take(), performer.perform, { discard: true }))
    yield* Effect.forkScoped(
      Effect.forever(asking.await.pipe(Effect.zipRight(asking.close), Effect.zipRight(requests)))
    )
    yield* Effect.forkScoped(drawing(model, terminal, changed, draw))
    yield* Effect.forkScoped(loadFacts(model, host, asked, touch))
    if (terminal.style === coloured) {
      terminal.write(askBackground)
      yield* Effect.timeoutOption(Deferred.await(isAnswered), patience)
    }
    yield* opening(model, performer, asked)
    touch()
    return yield* Deferred.await(left)
  })
