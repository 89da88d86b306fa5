/** Chooses how a run is shown: by its format, and by whether there is a terminal. */
import type { Backend } from "@skein/backend/Backend"
import * as Config from "effect/Config"
import * as Effect from "effect/Effect"
import type { Scope } from "effect/Scope"
import type { Streams } from "../../Stdio.ts"
import type { LeavingChoice, Presenter } from "./presenter.ts"

/** How a run is shown. */
export interface Shown {
  readonly presenter: Presenter
  /** Work in parallel with the run, until the scope closes. */
  readonly attend: Effect.Effect<void, never, Backend | Scope>
  /** Whether a person can be asked. */
  readonly canAsk: boolean
  /** Asks whether to stop the turn or leave it running, and calls the choice. Absent if Skein cannot ask anyone. */
  readonly askLeaving?: (choose: LeavingChoice) => void
  /** Calls a function when the keyboard is closed, instead of denying open requests. Absent if there is no keyboard. */
  readonly whenClosed?: (leave: () => void) => void
}

const still = (presenter: Presenter): Shown => ({ presenter, attend: Effect.void, canAsk: false })

/** A terminal that can only print lines. */
const isDumb = Effect.orElseSucceed(
  Effect.map(Config.withDefault(Config.string("TERM"), ""), (name) => name === "dumb"),
  () => false
)

/** Loads the presenter; `way` are the flags with which other commands reach the session. */
export const shownAs = (
  format: "default" | "json" | "quiet",
  stdio: Streams,
  way: string
): Effect.Effect<Shown, never, Scope> =>
  Effect.gen(function*() {
    if (format === "quiet") return still((yield* Effect.promise(() => import("./presenter.ts"))).quiet(stdio))
    if (format === "json") return still((yield* Effect.promise(() => import("./presenter.ts"))).json(stdio))
    const { error, output } = stdio.isTerminal
    if (!output || !error || (yield* isDumb)) {
      return still((yield* Effect.promise(() => import("./plain.ts"))).plain(stdio))
    }
    const { live } = yield* Effect.promise(() => import("./live.ts"))
    return yield* live(stdio, way)
  })
