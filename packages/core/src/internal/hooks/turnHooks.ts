/** The hooks around prompts, turns and runs of subagents. */
import type { Outcome } from "@skein/domain/Outcome"
import type { PartInput } from "@skein/domain/Part"
import * as Cause from "effect/Cause"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type { HookRefused } from "../../HookError.ts"
import { type HookEnd, Hooks } from "../../Hooks.ts"
import type { Turn } from "../../Session.ts"
import type { Live } from "../session/live.ts"
import { placeOf } from "./callHooks.ts"

const promptOf = (parts: ReadonlyArray<PartInput>): string =>
  parts.flatMap((part) => part.type === "text" ? [part.text] : part.type === "subtask" ? [part.prompt] : []).join("\n")

/**
 * Tells of a prompt before it is stored, and before the first one of a session that it begins. What a subagent is prompted
 * with is told as its start: users prompt roots. What hooks tell the model goes along with the prompt.
 */
export const promptHooks = (hooks: Context.Tag.Service<typeof Hooks>) => {
  const begun = new WeakSet<Live>()
  return (live: Live, parts: ReadonlyArray<PartInput>): Effect.Effect<ReadonlyArray<PartInput>, HookRefused> =>
    Effect.suspend(() => {
      if (live.parent !== undefined) return Effect.succeed(parts)
      const at = placeOf(live)
      const submitted = hooks.userPromptSubmit(at, promptOf(parts))
      const first = !begun.has(live)
      begun.add(live)
      return Effect.map(
        first ? Effect.zipWith(hooks.sessionStart(at), submitted, (a, b) => [...a, ...b]) : submitted,
        (contexts) => [...parts, ...contexts.map((text): PartInput => ({ type: "text", text, synthetic: true }))]
      )
    })
}

const endOf = (exit: Exit.Exit<Turn, { readonly message: string }>): HookEnd => {
  if (Exit.isSuccess(exit)) return { output: exit.value.text }
  const error = Cause.squash(exit.cause)
  return { output: error instanceof Error ? error.message : String(error), failed: true }
}

/** Tells that a turn of a root has ended by itself; what the next one is to be prompted with, if a hook wants one. */
export const turnEnded = (live: Live, exit: Exit.Exit<Turn, { readonly message: string }>, again: boolean) =>
  live.parent === undefined
    ? Effect.flatMap(Hooks, (hooks) => hooks.stop(placeOf(live), endOf(exit), again))
    : Effect.succeed(undefined)

/** Tells that a subagent begins to work. */
export const runBegins = (live: Live, prompt: string) =>
  Effect.flatMap(Hooks, (hooks) => hooks.subagentStart(placeOf(live), prompt))

/** Tells of the outcome of a run, unless the run is being given up: nobody waits for a hook then. */
export const runEnded = (live: Live, outcome: Outcome) =>
  Effect.flatMap(Hooks, (hooks) =>
    Effect.exit(Effect.interruptible(
      hooks.subagentStop(placeOf(live), {
        output: outcome.status === "failed" ? outcome.error.message : outcome.text,
        ...(outcome.status === "completed" ? {} : { failed: true })
      })
    )))
