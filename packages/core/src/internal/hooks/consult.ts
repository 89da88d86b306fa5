/** Asks one hook once, within its time limit, and validates its answer. */
import { type HookAnswer, hookAnswers, type HookEvent, type HookPayload } from "@skein/domain/Hook"
import * as Cause from "effect/Cause"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as ParseResult from "effect/ParseResult"
import * as Schema from "effect/Schema"
import type { Hook } from "../../Hook.ts"

/** The maximum length of a hook's reason, in characters. */
const longest = 4_000

/** A hook's text, truncated and well-formed, since it is stored and models read it. */
export const words = (text: string): string => text.trim().slice(0, longest).toWellFormed()

/** The maximum length of what a hook adds to a prompt, in characters. */
const longestContext = 50_000

/** What a hook says to the model, truncated and well-formed; says how much is left out. */
export const contextOf = (text: string): string =>
  text.length > longestContext
    ? `${
      text.slice(0, longestContext).toWellFormed()
    }\n(A hook said more: the rest of ${text.length} characters is left out.)`
    : text.toWellFormed()

const causeOf = (cause: Cause.Cause<unknown>): string => {
  if (Cause.isInterruptedOnly(cause)) return "it was interrupted"
  const error = Cause.squash(cause)
  return error instanceof Error ? error.message : String(error)
}

const decoders = new Map<HookEvent, (answer: unknown) => Effect.Effect<HookAnswer, ParseResult.ParseError>>()

const decoderOf = (event: HookEvent) => {
  const known = decoders.get(event)
  if (known !== undefined) return known
  const made: (answer: unknown) => Effect.Effect<HookAnswer, ParseResult.ParseError> = Schema.decodeUnknown(
    hookAnswers[event] as Schema.Schema<HookAnswer>,
    { onExcessProperty: "error", errors: "all" }
  )
  decoders.set(event, made)
  return made
}

const read = (event: HookEvent, answer: unknown): Effect.Effect<HookAnswer, string> =>
  Effect.mapError(
    decoderOf(event)(answer === undefined ? {} : answer),
    (error) =>
      `its answer has not the form of one to ${event}: ${
        ParseResult.ArrayFormatter.formatErrorSync(error).map(({ message, path }) =>
          `${path.map(String).join(".")} ${message}`.trim()
        ).join("; ")
      }`
  )

/** Asks a hook; fails with what is wrong with it. */
export const consult = <E extends HookEvent>(
  hook: Hook,
  payload: HookPayload<E>
): Effect.Effect<HookAnswer<E>, string> =>
  Effect.suspend(() => hook.run(payload)).pipe(
    // A hook may interrupt itself, as long as its caller is not interrupted.
    Effect.catchAllCause((cause) => Effect.fail(words(causeOf(cause)))),
    Effect.timeoutFail({
      duration: hook.timeout,
      onTimeout: () => `it did not answer within ${Duration.toSeconds(hook.timeout)} s`
    }),
    Effect.flatMap((answer) => Effect.mapError(read(hook.event, answer), words))
  ) as Effect.Effect<HookAnswer<E>, string>
