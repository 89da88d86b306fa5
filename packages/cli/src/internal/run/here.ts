/** Runs a turn in this process: over the database, with the config of the directory. */
import * as LocalBackend from "@skein/backend/LocalBackend"
import { formatIssue } from "@skein/config/ConfigError"
import type { TrustItem } from "@skein/config/TrustItem"
import type { Hook } from "@skein/core/Hooks"
import { Confinement } from "@skein/core/Isolation"
import * as LayerGraph from "@skein/core/LayerGraph"
import { SessionStorage } from "@skein/core/SessionStorage"
import { escapeLine } from "@skein/tui/Escape"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import { Stdio } from "../../Stdio.ts"
import { autoNote, bounded, limitsOf, services, settle, startNotes } from "../app.ts"
import { errorLine } from "../explain.ts"
import { projectOf } from "../place.ts"
import { hideConfigured } from "../Redaction.ts"
import { telemetry } from "../telemetry/telemetry.ts"
import { agentIn, modelNote, storedMode, typedMode } from "./choices.ts"
import type { Shown } from "./presenter.ts"
import type { Progress } from "./progress.ts"
import { readPrompt, type RunInput, type Silence } from "./prompt.ts"
import { type Ground, prompted } from "./prompted.ts"
import { findTarget, inStorage } from "./target.ts"

/** Waiting for models leaves time to remove old data. */
const forgetting = Effect.map(
  Effect.context<Effect.Effect.Context<typeof import("../retention.ts")["forgetDaily"]>>(),
  (context) =>
    Effect.flatMap(
      Effect.promise(() => import("../retention.ts")),
      ({ forgetDaily }) => Effect.provide(forgetDaily, context)
    )
)

/** In the formats without notes, MCP servers that wait for trust are said all the same: their tools are missed. */
const sayUntrusted = (widenings: ReadonlyArray<TrustItem>) =>
  Effect.map(Stdio, (stdio) => {
    const names = widenings.filter(({ key, state }) => key.startsWith("mcp.") && state !== "trusted")
      .map(({ key }) => key.slice("mcp.".length))
    if (names.length === 0) return
    const many = names.length === 1 ? "1 MCP server waits" : `${names.length} MCP servers wait`
    stdio.err(`skein: ${many} for trust: ${escapeLine(names.join(", "))}. \`skein trust\` shows what they run.`)
  })

/** Runs it over the database. */
export const runHere = (input: RunInput, silence: Silence, shown: Shown, progress: Progress) =>
  Effect.gen(function*() {
    const { flags } = input
    const typed = yield* typedMode(flags)
    progress.intact = (yield* SessionStorage).intact ?? Effect.void
    const reading = yield* Effect.forkScoped(readPrompt(input, silence))
    const lookup = yield* inStorage
    const target = yield* findTarget(flags, lookup)
    const settled = yield* settle(target.directory, limitsOf(flags))
    const stdio = yield* Stdio
    for (const line of yield* startNotes(settled, shown.canAsk)) shown.presenter.note(line)
    if (flags.format !== "default") {
      for (const issue of settled.warnings) if (issue.kind === "broken") stdio.err(errorLine(formatIssue(issue)))
      yield* sayUntrusted(settled.widenings)
    }
    const root = flags.agent ?? agentIn(typed, target.session, settled.settings.default_agent)
    const stored = yield* storedMode(target.session, lookup)
    progress.isAuto = (typed ?? stored) === "auto"
    progress.denials.under(settled)
    yield* hideConfigured(settled.settings)
    const watched = yield* telemetry(settled.settings.telemetry, shown.presenter.note)
    const heard = flags.verbose
      ? yield* Effect.map(
        Effect.promise(() => import("./hookLines.ts")),
        ({ withLines }) => (hooks: ReadonlyArray<Hook>) => withLines(hooks, shown.presenter.hook)
      )
      : undefined
    const context = yield* LayerGraph.build(
      Layer.provideMerge(
        LocalBackend.layer({ projectOf }),
        services(
          settled,
          bounded(settled.agents, flags["max-steps"], root),
          shown.canAsk ? "person" : "nobody",
          heard,
          shown.presenter.note
        )
      )
    )
    const said = progress.isAuto ? autoNote(settled) : undefined
    if (said !== undefined) shown.presenter.note(said)
    const allowed = typed === undefined && progress.isAuto
      ? yield* Effect.either(Context.get(context, Confinement).auto)
      : Either.void
    if (Either.isLeft(allowed)) {
      progress.isAuto = false
      shown.presenter.note(`mode: ask, instead of auto. ${allowed.left.message}`)
    }
    const mode = Either.isLeft(allowed) ? "ask" : typed
    const ground: Ground = {
      modelNote: (model, agent) => Effect.provide(modelNote(model, agent), context),
      beside: yield* Effect.provide(forgetting, context)
    }
    return yield* watched(
      Effect.provide(prompted(input, { target, typed: mode }, ground, Fiber.join(reading), shown, progress), context)
    )
  })
