/** The format `default` on a terminal: the tree of agents as it works, the answer as it arrives, and questions. */
import { Backend } from "@skein/backend/Backend"
import type { SessionID } from "@skein/domain/Id"
import type { PendingAsk } from "@skein/domain/TreeSnapshot"
import { dialogOf, type DialogReply } from "@skein/tui/Dialog"
import { escapeText } from "@skein/tui/Escape"
import type { Key } from "@skein/tui/Key"
import { keys, unmarkPastes } from "@skein/tui/Keyboard"
import { LiveView, type Moment } from "@skein/tui/LiveView"
import { Screen } from "@skein/tui/Screen"
import { coloured, colourless } from "@skein/tui/Style"
import { summaryLines } from "@skein/tui/SummaryLines"
import * as Config from "effect/Config"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Queue from "effect/Queue"
import type { Streams } from "../../Stdio.ts"
import type { LeavingChoice, Presenter } from "./presenter.ts"

/** The minimum time between two frames, in milliseconds: twelve frames a second are smooth enough. */
const pace = 84

/** How often the clocks of the tree are redrawn without an event, in milliseconds. */
const tick = 1_000

/** Makes the presenter. It restores the terminal when the scope closes, whatever happened. */
export const live = Effect.fnUntraced(function*(stdio: Streams, way: string) {
  const clock = yield* Effect.clock
  const noColour = yield* Effect.orElseSucceed(Config.option(Config.string("NO_COLOR")), () => Option.none())
  const style = Option.isSome(noColour) && noColour.value !== "" ? colourless : coloured
  const screen = new Screen({ write: stdio.out, size: stdio.size })
  const changed = yield* Effect.makeLatch()
  const answered = yield* Effect.makeLatch()
  const promotions = yield* Queue.sliding<SessionID>(64)
  const notes: Array<string> = []
  let view: LiveView | undefined
  const keyboard = stdio.keyboard()

  const moment = (): Moment => ({
    now: clock.unsafeCurrentTimeMillis(),
    steady: Number(clock.unsafeCurrentTimeNanos() / 1_000_000n)
  })

  const draw = () => {
    if (view === undefined) return
    const now = moment()
    const size = screen.measure(now.steady)
    if (size === undefined) return changed.unsafeOpen()
    const { above, below } = view.view(size, now)
    screen.draw(above, below, undefined, size)
  }

  const frames = Effect.forever(
    Effect.suspend(() => Effect.timeoutOption(changed.await, view?.dialogs.isEmpty === false ? pace : tick)).pipe(
      Effect.zipRight(changed.close),
      Effect.zipRight(Effect.sync(draw)),
      Effect.zipRight(Effect.sleep(pace))
    )
  )

  const reported = (reply: DialogReply) =>
    Effect.gen(function*() {
      const { asks } = yield* Backend
      if (reply.kind === "permission") {
        const { id, message, reply: given, scope } = reply
        return yield* asks.reply(id, given, { scope, ...(message === undefined ? {} : { message }) })
      }
      return yield* reply.answers === undefined
        ? asks.dismiss(reply.id)
        : asks.answer(reply.id, reply.answers)
    }).pipe(
      // If somebody else answered it, or its agent has ended, nothing is left to answer.
      Effect.catchTags({ PermissionNotFound: () => Effect.void, QuestionNotFound: () => Effect.void }),
      Effect.catchAll((error) => Effect.sync(() => view?.note(error.message)))
    )

  const replies = Effect.forever(
    answered.await.pipe(
      Effect.zipRight(answered.close),
      Effect.zipRight(Effect.suspend(() => Effect.forEach(view?.dialogs.take() ?? [], reported, { discard: true })))
    )
  )

  const letGo = Effect.forever(
    Effect.flatMap(
      Queue.take(promotions),
      (taskID) =>
        Effect.flatMap(Backend, ({ tasks }) => tasks.promote(taskID)).pipe(
          // It has settled meanwhile, and needs no answer.
          Effect.catchTag("TaskRefused", () => Effect.void),
          Effect.catchAll((error) => Effect.sync(() => view?.note(error.message)))
        )
    )
  )

  yield* Effect.addFinalizer(() => Effect.sync(() => screen.close()))
  // Also if the process exits immediately: never leave a terminal without a cursor.
  const onExit = () => {
    screen.close()
    stdio.out(unmarkPastes)
  }
  yield* Effect.acquireRelease(
    Effect.sync(() => process.once("exit", onExit)),
    () => Effect.sync(() => process.off("exit", onExit))
  )

  const presenter: Presenter = {
    deltas: true,
    begin: (session, colors) => {
      view = new LiveView(session, clock.unsafeCurrentTimeMillis(), { style, colors, hasKeys: keyboard !== undefined })
      for (const note of notes) view.note(note)
      changed.unsafeOpen()
    },
    event: (event) => {
      if (view?.see(event) === true) changed.unsafeOpen()
      answered.unsafeOpen()
    },
    ...(keyboard === undefined ? {} : {
      asked: (ask: PendingAsk) => {
        view?.dialogs.add(dialogOf(ask))
        changed.unsafeOpen()
      }
    }),
    note: (line) => {
      if (view === undefined) notes.push(line)
      else view.note(line)
    },
    hook: (line) => presenter.note(line),
    end: (result) => {
      if (view === undefined) return screen.close()
      const said = result.text.endsWith(view.transcript.answer.message) && view.transcript.answer.message !== "" ||
        result.outcome === "failed" ||
        result.outcome === "stopped"
      screen.close([
        ...view.finish(),
        ...(said || result.text === "" ? [] : escapeText(result.text).split("\n"))
      ])
      const summary = summaryLines(view.tree, result, {
        files: view.changed.names,
        now: clock.unsafeCurrentTimeMillis(),
        reported: view.transcript.failedTasks,
        way
      })
      for (const line of summary) stdio.err(style.dim(line))
      view = undefined
    }
  }
  let leaving: LeavingChoice | undefined
  const askLeaving = (choice: LeavingChoice) => {
    leaving = choice
    presenter.note(
      "The server can continue without this terminal. 1: stop the turn, 2: leave it running, Esc: keep watching."
    )
    changed.unsafeOpen()
  }
  const onKeys = (typed: ReadonlyArray<Key>) => {
    if (view === undefined) return
    if (leaving !== undefined) {
      const chosen = typed.length === 1 ? chosenBy(typed[0]) : undefined
      if (chosen === undefined) return
      leaving[chosen]()
      leaving = undefined
      return
    }
    if (view.mayLetGo && typed.some((key) => key.type === "key" && key.name === "ctrl+b")) {
      for (const taskID of view.waitedFor) promotions.unsafeOffer(taskID)
    }
    view.dialogs.press(typed, moment().steady)
    answered.unsafeOpen()
    // Show the effect of a key immediately.
    draw()
  }

  let onClosed = () => {
    view?.dialogs.close()
    answered.unsafeOpen()
  }

  const attend = Effect.gen(function*() {
    if (keyboard !== undefined) {
      yield* keys(keyboard, {
        write: stdio.out,
        onKeys,
        onResume: () => changed.unsafeOpen(),
        onClosed: () => onClosed()
      })
    }
    yield* stdio.onResize(() => changed.unsafeOpen())
    yield* Effect.forkScoped(frames)
    yield* Effect.forkScoped(replies)
    yield* Effect.forkScoped(letGo)
  })
  const whenClosed = (leave: () => void) => void (onClosed = leave)
  return {
    presenter,
    attend,
    canAsk: keyboard !== undefined,
    ...(keyboard === undefined ? {} : { askLeaving, whenClosed })
  }
})

const chosenBy = (key: Key | undefined): keyof LeavingChoice | undefined => {
  if (key?.type === "key") return key.name === "escape" ? "stay" : undefined
  if (key?.type !== "text") return undefined
  return key.text === "1" ? "stop" : key.text === "2" ? "leave" : undefined
}
