/** The format `default` on a terminal: the tree of agents as it works, the answer as it comes, questions where they come up. */
import { Permission } from "@skein/core/Permission"
import { Question } from "@skein/core/Question"
import { type TaskName, Tasks } from "@skein/core/Tasks"
import * as Config from "effect/Config"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Queue from "effect/Queue"
import type { Streams } from "../../Stdio.ts"
import { escapeText } from "../escape.ts"
import { keys } from "../terminal/keys.ts"
import { Screen } from "../terminal/screen.ts"
import { coloured, colourless } from "../terminal/style.ts"
import type { Answer } from "../tree/askQueue.ts"
import { LiveView } from "../tree/liveView.ts"
import type { QuestionAnswer } from "../tree/questionQueue.ts"
import type { Presenter } from "./presenter.ts"
import { summaryLines } from "./summaryLines.ts"

/** How long a frame stays at least, in milliseconds: twelve a second are smooth enough. */
const pace = 84

/** How often the clocks of the tree go on by themselves, in milliseconds. */
const tick = 1_000

/** Makes the presenter; its screen is given back when the scope closes, whatever happened. */
export const live = Effect.fnUntraced(function*(stdio: Streams) {
  const clock = yield* Effect.clock
  const noColour = yield* Effect.orElseSucceed(Config.option(Config.string("NO_COLOR")), () => Option.none())
  const style = Option.isSome(noColour) && noColour.value !== "" ? colourless : coloured
  const screen = new Screen({ write: stdio.out, columns: () => stdio.size().columns })
  const changed = yield* Effect.makeLatch()
  const answers = yield* Queue.sliding<Answer>(64)
  const words = yield* Queue.sliding<QuestionAnswer>(64)
  const promotions = yield* Queue.sliding<TaskName>(64)
  const notes: Array<string> = []
  let view: LiveView | undefined
  const keyboard = stdio.keyboard()

  const draw = Effect.sync(() => {
    if (view === undefined) return
    const { above, below } = view.view(stdio.size(), clock.unsafeCurrentTimeMillis())
    screen.draw(above, below)
  })

  const frames = Effect.forever(
    Effect.timeoutOption(changed.await, tick).pipe(
      Effect.zipRight(changed.close),
      Effect.zipRight(draw),
      Effect.zipRight(Effect.sleep(pace))
    )
  )

  const replies = Effect.forever(
    Effect.flatMap(Queue.take(answers), ({ id, message, reply, scope }) =>
      Effect.flatMap(Permission, (permission) =>
        // Somebody else may have answered it, or its agent may be gone: then there is nothing left to answer.
        permission.reply(id, reply, { scope, ...(message === undefined ? {} : { message }) }).pipe(
          Effect.catchTag("PermissionNotFound", () => Effect.void),
          Effect.catchAll((error) => Effect.sync(() => view?.note(error.message)))
        )))
  )

  const wordsSaid = Effect.forever(
    Effect.flatMap(
      Queue.take(words),
      ({ answers: given, id }) =>
        Effect.flatMap(
          Question,
          (questions) =>
            (given === undefined ? questions.dismiss(id) : questions.reply(id, given)).pipe(
              Effect.catchTag("QuestionNotFound", () => Effect.void),
              Effect.catchAll((error) => Effect.sync(() => view?.note(error.message)))
            )
        )
    )
  )

  const letGo = Effect.forever(
    Effect.flatMap(Queue.take(promotions), (name) =>
      Effect.flatMap(Tasks, (tasks) => tasks.promote(name)).pipe(
        // It has settled meanwhile: then nobody waits for it any more.
        Effect.catchTag("TaskRefused", () => Effect.void),
        Effect.catchAll((error) => Effect.sync(() => view?.note(error.message)))
      ))
  )

  yield* Effect.addFinalizer(() => Effect.sync(() => screen.close()))
  // Also where the process ends at once: a terminal without a cursor is no use.
  const onExit = () => screen.close()
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
    },
    note: (line) => {
      if (view === undefined) notes.push(line)
      else view.note(line)
    },
    hook: (line) => presenter.note(line),
    end: (result) => {
      if (view === undefined) return screen.close()
      const said = view.answer.message === result.text || result.outcome === "failed" ||
        result.outcome === "stopped"
      screen.close([
        ...view.answer.finish(),
        ...(said || result.text === "" ? [] : escapeText(result.text).split("\n")),
        ...summaryLines(view.tree, result, clock.unsafeCurrentTimeMillis()).map((line) => style.dim(line))
      ])
      view = undefined
    }
  }
  const attend = Effect.gen(function*() {
    if (keyboard !== undefined) {
      yield* keys(keyboard, (text) => {
        if (
          text === "b" && view !== undefined && view.asks.current === undefined && view.questions.current === undefined
        ) {
          for (const taskID of view.waitedFor) promotions.unsafeOffer({ parentID: view.tree.root.id, taskID })
        }
        if (view?.asks.current === undefined) {
          const word = view?.questions.type(text)
          if (word !== undefined) words.unsafeOffer(word)
        } else {
          const answer = view.asks.type(text)
          if (answer !== undefined) answers.unsafeOffer(answer)
        }
        changed.unsafeOpen()
      })
    }
    yield* stdio.onResize(() => changed.unsafeOpen())
    yield* Effect.forkScoped(frames)
    yield* Effect.forkScoped(replies)
    yield* Effect.forkScoped(wordsSaid)
    yield* Effect.forkScoped(letGo)
  })
  return { presenter, attend, canAsk: keyboard !== undefined }
})
