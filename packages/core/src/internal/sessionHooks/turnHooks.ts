/** The hooks around prompts, turns and runs of subagents. */
import type { Outcome } from "@skein/domain/Outcome"
import type { PartInput } from "@skein/domain/Part"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import type { HookRefused } from "../../Hook.ts"
import { type HookEnd, Hooks } from "../../Hooks.ts"
import { Projects } from "../../Projects.ts"
import type { Turn } from "../../Turn.ts"
import { inProject } from "../live/inProject.ts"
import type { Live } from "../live/Live.ts"
import { placeOf } from "./callHooks.ts"

/** The time limit of all SessionEnd hooks together: the program waits for them as it exits. */
const longestEnd = "4 seconds"

const promptOf = (parts: ReadonlyArray<PartInput>): string =>
  parts.flatMap((part) => part.type === "text" ? [part.text] : part.type === "subtask" ? [part.prompt] : []).join("\n")

/**
 * Calls the hooks for a prompt before it is stored, and for the session that its first prompt starts. A subagent's
 * prompt counts as its start: users prompt roots. What hooks say to the model is added to the prompt.
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
   * Calls the hooks when this process closes the sessions that it prompted. It runs in its own fiber, since the closing
   * fiber may be interrupted.
   */
  const ended = Effect.suspend(() =>
    Effect.forEach(begun, (live) =>
      Effect.catchAll(
        Projects.use(live.info.directory, Effect.flatMap(Hooks, (hooks) => hooks.sessionEnd(placeOf(live)))),
        ({ message }) => Effect.logWarning("SessionEnd hooks did not run", message)
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

/**
 * Calls the hooks when a turn of a root has ended on its own; returns the prompt of the next one, if a hook wants one.
 */
export const turnEnded = (live: Live, exit: Exit.Exit<Turn, { readonly message: string }>, again: boolean) =>
  live.parent === undefined
    ? inProject(live, Effect.flatMap(Hooks, (hooks) => hooks.stop(placeOf(live), endOf(exit), again)))
    : Effect.succeed(undefined)

/** Calls the hooks when a subagent starts; returns what they add to its prompt. */
export const runBegins = (live: Live, prompt: string) =>
  inProject(live, Effect.flatMap(Hooks, (hooks) => hooks.subagentStart(placeOf(live), prompt)))

/** Calls the hooks when a subagent has ended a turn well; returns its next prompt, if a hook wants it to continue. */
export const runEnds = (live: Live, output: string, again: boolean) =>
  inProject(live, Effect.flatMap(Hooks, (hooks) => hooks.subagentStop(placeOf(live), { output }, again)))

/** Calls the hooks with the outcome of a run, unless its last turn has done so, or the run was abandoned. */
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
