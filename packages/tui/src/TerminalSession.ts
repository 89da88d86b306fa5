/** Runs a session at a terminal until the person leaves it. */
import type { Backend } from "@skein/backend/Backend"
import type { BackendError } from "@skein/backend/BackendError"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import { type Facts, factsOf, momentOf } from "./internal/model/Facts.ts"
import { frameOf } from "./internal/model/frame.ts"
import { SessionModel } from "./internal/model/SessionModel.ts"
import type { Signals, Stage } from "./internal/session/Acting.ts"
import { loadFacts, opening } from "./internal/session/opening.ts"
import { makePerformer } from "./internal/session/perform.ts"
import type { Key, Rgb } from "./Key.ts"
import { endEditor, type Keyboard, keys } from "./Keyboard.ts"
import type { Moment } from "./LiveView.ts"
import { Screen } from "./Screen.ts"
import type { SessionHost, SessionLeft, SessionRequest, SessionTerminal } from "./SessionHost.ts"
import { coloured, onLight } from "./Style.ts"

/** The colour of the background (OSC 11). Every terminal answers the question behind it: then no colour follows. */
const askBackground = "\x1b]11;?\x07\x1b[c"

/** How long a terminal may take, in milliseconds: what is printed before has the colours for dark ones. */
const patience = 100

/** Whether dark letters are read better on it. */
const isLight = ({ blue, green, red }: Rgb): boolean => 0.2126 * red + 0.7152 * green + 0.0722 * blue > 0.5

/** Whether a key is a reply, and no key of a person. */
const isReply = ({ type }: Key): boolean => type === "background" || type === "attributes"

/** How long a frame stays, in milliseconds: where nothing is typed, and where it is. */
const pace = { events: 34, keys: 8 }

/** How often clocks go on by themselves, in milliseconds. */
const tick = 1_000

/** While more waits to be written, no frame is drawn: the newest one follows, in characters. */
const mostWaiting = 64 * 1_024

/** The screen, which is given back when the scope closes, whatever happened. */
const screenOf = (model: SessionModel, terminal: SessionTerminal) =>
  Effect.gen(function*() {
    const screen = new Screen(terminal)
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

/**
 * Draws frames: none while the program is suspended, as a clock that is due rings before it hears that it continues, and
 * none while the terminal changes its size: then later.
 */
const framesOf = (model: SessionModel, screen: Screen, moment: () => Moment, later: () => void) => {
  let isSuspended = false
  return {
    draw: () => {
      if (isSuspended) return
      const now = moment()
      const size = screen.measure(now.steady)
      if (size === undefined) return later()
      const frame = frameOf(model, size, now)
      if (frame.type === "full") screen.drawFull(frame.lines, size)
      else screen.draw(frame.above, frame.below, frame.cursor, size)
    },
    suspend: () => {
      isSuspended = true
      screen.close()
    },
    resume: () => {
      isSuspended = false
      screen.forget()
    }
  }
}

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

/** The session before anything has happened: it knows how wide its notes may be. */
const modelOf = ({ size, style }: SessionTerminal, facts: Facts, notes: ReadonlyArray<string>): SessionModel => {
  const model = new SessionModel(style, facts)
  model.columns = size().columns
  for (const note of notes) model.say(note)
  return model
}

/** Leaves the terminal to another program: nothing is drawn, and no key is read, until that has ended. */
const lending =
  ({ resume, suspend }: ReturnType<typeof framesOf>, keyboard: Keyboard, touch: () => void): Stage["lend"] => (use) =>
    Effect.acquireUseRelease(
      Effect.sync(suspend),
      () => keyboard.lend(use),
      () =>
        Effect.sync(() => {
          resume()
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
    const model = modelOf(terminal, yield* factsOf(asked), asked.notes)
    const moment = yield* momentOf
    const screen = yield* screenOf(model, terminal)
    const [changed, asking] = yield* Effect.all([Effect.makeLatch(), Effect.makeLatch()])
    const left = yield* Deferred.make<SessionLeft>()
    const touch = () => {
      changed.unsafeOpen()
      asking.unsafeOpen()
    }
    const frames = framesOf(model, screen, moment, () => changed.unsafeOpen())
    const { draw, resume, suspend } = frames
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
    const keyboard = yield* keys(terminal.keyboard, {
      write: terminal.write,
      isEditor: true,
      onKeys,
      onSuspend: suspend,
      onResume: () => {
        resume()
        touch()
      },
      onClosed: () => Deferred.unsafeDone(left, Effect.succeed({ session: model.live?.tree.root.id }))
    })
    const performer = yield* makePerformer({
      model,
      host,
      asked,
      size: terminal.size,
      signals: signalsOf(terminal),
      lend: lending(frames, keyboard, touch),
      touch,
      moment,
      left
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
