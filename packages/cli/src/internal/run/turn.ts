/** Runs one turn to an answer, or to whatever ended it before that. */
import { Session, type Turn } from "@skein/core/Session"
import type { PromptError, PromptOptions } from "@skein/core/Session"
import type { PartInput } from "@skein/domain/Part"
import type { SessionInfo } from "@skein/domain/SessionInfo"
import { none, since } from "@skein/domain/Usage"
import * as Effect from "effect/Effect"
import type { Unfinished } from "./result.ts"

/** How long a tree that was told to stop may take, in milliseconds. */
const patience = 5_000

/** Prompts a session; undefined where the time ran out. Interruption stops the tree, and waits for that a while. */
export const runTurn = (
  { id }: SessionInfo,
  prompt: ReadonlyArray<PartInput>,
  options: PromptOptions,
  timeout: number | undefined
): Effect.Effect<Turn | undefined, PromptError, Session> =>
  Effect.flatMap(Session, (session) => {
    const stopped = Effect.timeoutOption(Effect.disconnect(Effect.exit(session.stop(id))), patience)
    const turn = Effect.onInterrupt(Effect.disconnect(session.prompt(id, prompt, options)), () => stopped)
    return timeout === undefined
      ? turn
      : Effect.raceFirst(turn, Effect.as(Effect.sleep(timeout), undefined))
  })

/** What a session has to show for a turn that did not end well. */
export const unfinished = (before: SessionInfo): Effect.Effect<Unfinished, never, Session> =>
  Effect.gen(function*() {
    const session = yield* Session
    const { usage } = yield* session.get(before.id)
    const messages = yield* session.messages(before.id)
    const last = messages.findLast(({ info }) => info.role === "assistant")
    const text = last?.parts.findLast((part) => part.type === "text" && part.text.trim() !== "")
    return {
      sessionID: before.id,
      text: text?.type === "text" ? text.text.trim() : "",
      usage: since(before.usage.subtree, usage.subtree)
    }
  }).pipe(Effect.catchAll(() => Effect.succeed({ sessionID: before.id, text: "", usage: none })))
