/** Runs a turn on a server, which continues it when this program ends. */
import { Backend } from "@skein/backend/Backend"
import * as LayerGraph from "@skein/core/LayerGraph"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import { Stdio } from "../../Stdio.ts"
import { Stop } from "../../Stop.ts"
import { backendOf } from "../attach/attach.ts"
import type { Found } from "../attach/findServer.ts"
import { storedMode, typedMode } from "./choices.ts"
import type { Shown } from "./presenter.ts"
import type { Progress } from "./progress.ts"
import { readPrompt, type RunInput, type Silence } from "./prompt.ts"
import { type Ground, prompted } from "./prompted.ts"
import { findTarget, onBackend } from "./target.ts"

/** The server has its own environment, so this note does not mention keys. */
const ground: Ground = {
  modelNote: (model) => Effect.succeed(`model: ${model} (-m chooses another)`),
  beside: Effect.void
}

/** Closing the terminal leaves the turn running. Ctrl-C asks what to do, if somebody can answer. */
const leaving = Effect.fnUntraced(function*(
  { server: { url } }: Found,
  { askLeaving, whenClosed }: Shown,
  progress: Progress
) {
  const stop = yield* Stop
  const stdio = yield* Stdio
  let isAsked = false
  // Others who watch the turn may still answer its questions.
  whenClosed?.(() => {
    if (progress.isOver) return
    progress.goesOnAt = url
    stop.now("SIGHUP")
  })
  yield* stop.onSignal((by) => {
    // Until there is a session, the server has nothing to continue.
    if (progress.left.sessionID === undefined) return false
    if (by === "SIGHUP") progress.goesOnAt = url
    if (by !== "SIGINT" || isAsked || askLeaving === undefined || !stdio.isTerminal.input) return false
    isAsked = true
    askLeaving({
      stop: () => stop.now(by),
      leave: () => {
        progress.goesOnAt = url
        stop.now(by)
      },
      stay: () => isAsked = false
    })
    return true
  })
})

/** How long the server may take to say whether it still has the session. */
const patience = "2 seconds"

/** Asks the server. One that does not answer has not deleted it. */
const isDeletedAt = ({ sessions }: typeof Backend.Service): Progress["isDeleted"] => (id) =>
  Effect.timeoutOption(Effect.disconnect(Effect.flip(sessions.get(id))), patience).pipe(
    Effect.map(Option.exists(({ _tag }) => _tag === "SessionNotFound")),
    Effect.orElseSucceed(() => false)
  )

/** Runs it on a server. */
export const runAttached = (input: RunInput, silence: Silence, found: Found, shown: Shown, progress: Progress) =>
  Effect.gen(function*() {
    const { flags } = input
    const typed = yield* typedMode(flags)
    const reading = yield* Effect.forkScoped(readPrompt(input, silence))
    const context = yield* LayerGraph.build(backendOf(found))
    return yield* Effect.provide(
      Effect.gen(function*() {
        const backend = yield* Backend
        const lookup = onBackend(backend)
        const target = yield* findTarget(flags, lookup)
        progress.intact = backend.intact
        progress.isDeleted = isDeletedAt(backend)
        progress.isAuto = (typed ?? (yield* storedMode(target.session, lookup))) === "auto"
        shown.presenter.note(
          `server: ${found.server.url} (its environment, config and trust apply; --attach=off works without it)`
        )
        if (flags.verbose) shown.presenter.note("--verbose shows no hooks here: they run on the server.")
        yield* leaving(found, shown, progress)
        return yield* prompted(input, { target, typed }, ground, Fiber.join(reading), shown, progress)
      }),
      context
    )
  })
