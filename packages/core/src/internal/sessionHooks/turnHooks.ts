/** The hooks around prompts, turns and runs of subagents. */
import type { Outcome } from "@skein/domain/Outcome"
import type { PartInput } from "@skein/domain/Part"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import type { HookRefused } from "../../HookError.ts"
import { type HookEnd, Hooks } from "../../Hooks.ts"
import { Projects } from "../../Projects.ts"
import type { Turn } from "../../Turn.ts"
import { inProject } from "../live/inProject.ts"
import type { Live } from "../live/Live.ts"
import { placeOf } from "./callHooks.ts"

/** How long all SessionEnd hooks may take: the program waits for them as it ends. */
const longestEnd = "4 seconds"

const promptOf = (parts: ReadonlyArray<PartInput>): string =>
  parts.flatMap((part) => part.type === "text" ? [part.text] : part.type === "subtask" ? [part.prompt] : []).join("\n")

/**
 * Tells of a prompt before it is stored, and before the first one of a session that it begins. What a subagent is prompted
 * with is told as its start: users prompt roots. What hooks tell the model goes along with the prompt.
 */
export const promptHooks = () => {
  const begun = new Set<Live>()
  const submitted = (
    live: Live,
    parts: ReadonlyArray<PartInput>
  ): Effect.Effect<ReadonlyArray<PartInput>, HookRefused, Hooks> =>
    Effect.flatMap(Hooks, (hooks) => {
      if (live.parent !== undefined) return Effect.succeed(parts)
      const at = placeOf(live)
      const taken = hooks.userPromptSubmit(at, promptOf(parts))
      const first = !begun.has(live)
      begun.add(live)
      return Effect.map(
        first
          ? Effect.zipWith(
            hooks.sessionStart(at, live.info.turn === undefined ? "startup" : "resume"),
            taken,
            (a, b) => [...a, ...b]
          )
          : taken,
        (contexts) => [...parts, ...contexts.map((text): PartInput => ({ type: "text", text, synthetic: true }))]
      )
    })
  /**
   * Tells that this process closes the sessions that it has prompted. A fiber of its own does it, since the one that closes
   * them may be interrupted.
   */
  const ended = Effect.suspend(() =>
    Effect.forEach(begun, (live) =>
      Effect.catchAll(
        Projects.use(live.info.directory, Effect.flatMap(Hooks, (hooks) => hooks.sessionEnd(placeOf(live)))),
        ({ message }) => Effect.logWarning("Hooks are not told of the end of a session", message)
      ), { concurrency: "unbounded", discard: true })
  ).pipe(
    Effect.timeoutOption(longestEnd),
    Effect.interruptible,
    Effect.fork,
    Effect.flatMap(Fiber.await),
    Effect.when(() => begun.size > 0)
  )
  return { submitted, ended }
}

const endOf = (exit: Exit.Exit<Turn, { readonly message: string }>): HookEnd => {
  if (Exit.isSuccess(exit)) return { output: exit.value.text }
  const error = Cause.squash(exit.cause)
  return { output: error instanceof Error ? error.message : String(error), failed: true }
}

/** Tells that a turn of a root has ended by itself; what the next one is to be prompted with, if a hook wants one. */
export const turnEnded = (live: Live, exit: Exit.Exit<Turn, { readonly message: string }>, again: boolean) =>
  live.parent === undefined
    ? inProject(live, Effect.flatMap(Hooks, (hooks) => hooks.stop(placeOf(live), endOf(exit), again)))
    : Effect.succeed(undefined)

/** Tells that a subagent begins to work; what hooks tell it with its prompt. */
export const runBegins = (live: Live, prompt: string) =>
  inProject(live, Effect.flatMap(Hooks, (hooks) => hooks.subagentStart(placeOf(live), prompt)))

/** Tells that a subagent has ended a turn well; what it is prompted with next, if a hook wants it to go on. */
export const runEnds = (live: Live, output: string, again: boolean) =>
  inProject(live, Effect.flatMap(Hooks, (hooks) => hooks.subagentStop(placeOf(live), { output }, again)))

/**
 * Tells of the outcome of a run, unless hooks were told of it as its last turn ended, or the run is being given up: nobody
 * waits for a hook then.
 */
export const runEnded = (live: Live, outcome: Outcome) =>
  outcome.status === "completed"
    ? Effect.void
    : inProject(
      live,
      Effect.flatMap(Hooks, (hooks) =>
        Effect.exit(Effect.interruptible(
          hooks.subagentStop(placeOf(live), {
            output: outcome.status === "failed" ? outcome.error.message : outcome.text,
            failed: true
          })
        )))
    )
