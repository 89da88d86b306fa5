/** Runs a session at a terminal until the person leaves it. */
import { Backend } from "@skein/backend/Backend"
import type { BackendError } from "@skein/backend/BackendError"
import type { SessionID } from "@skein/domain/Id"
import type { Mode } from "@skein/domain/Mode"
import type { ModelRef } from "@skein/domain/Model"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type { ReadStream } from "node:tty"
import type { Facts } from "./internal/session/Facts.ts"
import { frameOf } from "./internal/session/frame.ts"
import { loadFacts, opening } from "./internal/session/opening.ts"
import { makePerformer } from "./internal/session/perform.ts"
import { SessionModel } from "./internal/session/SessionModel.ts"
import type { Key } from "./Key.ts"
import { endEditor, keys } from "./Keyboard.ts"
import type { Moment } from "./LiveView.ts"
import { type Reflow, Screen } from "./Screen.ts"
import type { Style } from "./Style.ts"

/** The terminal. */
export interface SessionTerminal {
  readonly keyboard: ReadStream
  readonly write: (text: string) => void
  readonly size: () => { readonly columns: number; readonly rows: number }
  readonly onResize: (listener: () => void) => Effect.Effect<void, never, Scope.Scope>
  /** How much was written that the terminal has not taken yet, in characters. */
  readonly waiting: () => number
  readonly style: Style
  readonly reflow: Reflow
}

/** What a session needs of the machine that the person sits at. */
export interface SessionHost {
  /** The names of the files below a directory, ignored ones left out. */
  readonly files: (directory: string) => Effect.Effect<ReadonlyArray<string>>
  /** Whether a file or directory is there. */
  readonly exists: (directory: string, name: string) => Effect.Effect<boolean>
  /** Runs a command of the person's own, and gives what it wrote. */
  readonly shell: (directory: string, command: string) => Effect.Effect<{ readonly output: string; readonly exit: number }>
  /** Runs this program with other arguments, and gives what it wrote. */
  readonly program: (directory: string, args: ReadonlyArray<string>) => Effect.Effect<string>
  /** Opens the person's editor with a text, and gives what it was left with; undefined where none is set. */
  readonly edit: (text: string) => Effect.Effect<string | undefined>
  /** Earlier inputs of the project, the oldest first. */
  readonly history: (directory: string) => Effect.Effect<ReadonlyArray<string>>
  readonly remember: (directory: string, text: string) => Effect.Effect<void>
}

/** What is opened. */
export interface SessionRequest {
  readonly directory: string
  readonly branch: string | undefined
  /** The session to continue; a new one where absent. */
  readonly session: SessionID | undefined
  /** Shows the sessions of the project first. */
  readonly picks: boolean
  /** The first prompt; empty where there is none. */
  readonly prompt: string
  readonly mode: Mode | undefined
  readonly agent: string | undefined
  readonly model: ModelRef | undefined
  /** Shown at first: what is worth knowing of the configuration. */
  readonly notes: ReadonlyArray<string>
  /** The model that answers where there is no key, and what is said then. */
  readonly fallback: { readonly model: string; readonly note: string }
}

/** How a session was left. */
export interface SessionLeft {
  readonly session: SessionID | undefined
}

/** How long a frame stays, in milliseconds: where nothing is typed, and where it is. */
const pace = { events: 34, keys: 8 }

/** How often clocks go on by themselves, in milliseconds. */
const tick = 1_000

/** While more waits to be written, no frame is drawn: the newest one follows, in characters. */
const mostWaiting = 64 * 1_024

const drawer = (model: SessionModel, terminal: SessionTerminal, moment: () => Moment) => {
  const screen = new Screen({
    write: terminal.write,
    columns: () => terminal.size().columns,
    rows: () => terminal.size().rows,
    reflow: terminal.reflow
  })
  const draw = () => {
    const frame = frameOf(model, terminal.size(), moment())
    if (frame.type === "full") screen.drawFull(frame.lines)
    else screen.draw(frame.above, frame.below, frame.cursor)
  }
  return { screen, draw }
}

/** Opens a session. Ends when the person leaves, or the terminal is closed. */
export const openSession = (
  terminal: SessionTerminal,
  host: SessionHost,
  asked: SessionRequest
): Effect.Effect<SessionLeft, BackendError, Backend | Scope.Scope> =>
  Effect.gen(function*() {
    const backend = yield* Backend
    const clock = yield* Effect.clock
    const facts: Facts = {
      directory: asked.directory,
      branch: asked.branch,
      server: backend.where._tag === "Server" ? backend.where.url : undefined,
      mode: asked.mode ?? "ask",
      agent: asked.agent,
      model: undefined,
      context: undefined,
      commands: [],
      agents: [],
      files: undefined
    }
    const model = new SessionModel(terminal.style, facts)
    const moment = (): Moment => ({
      now: clock.unsafeCurrentTimeMillis(),
      steady: Number(clock.unsafeCurrentTimeNanos() / 1_000_000n)
    })
    const { draw, screen } = drawer(model, terminal, moment)
    const changed = yield* Effect.makeLatch()
    const asking = yield* Effect.makeLatch()
    const left = yield* Deferred.make<SessionLeft>()
    const touch = () => {
      changed.unsafeOpen()
      asking.unsafeOpen()
    }
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
    for (const note of asked.notes) model.say(note)

    const frames = Effect.forever(
      Effect.suspend(() => Effect.timeoutOption(changed.await, model.live?.dialogs.isEmpty === false ? 100 : tick)).pipe(
        Effect.zipRight(changed.close),
        Effect.zipRight(Effect.sync(() => {
          if (terminal.waiting() < mostWaiting) draw()
          else changed.unsafeOpen()
        })),
        Effect.zipRight(Effect.sleep(pace.events))
      )
    )
    const performer = yield* makePerformer({ model, host, asked, terminal, screen, touch, moment, left })
    const requests = Effect.forever(
      asking.await.pipe(
        Effect.zipRight(asking.close),
        Effect.zipRight(
          Effect.suspend(() => Effect.forEach(model.take(), performer.perform, { discard: true }))
        )
      )
    )
    let drawnAt = 0
    const onKeys = (read: ReadonlyArray<Key>) => {
      model.press(read, moment())
      asking.unsafeOpen()
      const { steady } = moment()
      // What a key does is seen at once.
      if (steady - drawnAt >= pace.keys) draw()
      else changed.unsafeOpen()
      drawnAt = steady
    }
    yield* Effect.forkScoped(requests)
    draw()
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
    yield* terminal.onResize(touch)
    yield* Effect.forkScoped(frames)
    yield* Effect.forkScoped(loadFacts(model, host, asked, touch))
    yield* opening(model, performer, asked)
    touch()
    return yield* Deferred.await(left)
  })
