/** Reads what a client answers. Nothing checks that before: it may be anything. */
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Schema from "effect/Schema"

/** An answer that makes no sense. */
export interface NotUnderstood {
  readonly _tag: "NotUnderstood"
  /** The answer, shortened. */
  readonly message: string
}

/** The answer to `session/request_permission`. */
export const PermissionAnswer = Schema.Struct({
  outcome: Schema.Union(
    Schema.Struct({ outcome: Schema.Literal("cancelled") }),
    Schema.Struct({ outcome: Schema.Literal("selected"), optionId: Schema.String })
  )
})

/** The answer to `elicitation/create`. */
export const FormAnswer = Schema.Struct({
  action: Schema.Literal("accept", "decline", "cancel"),
  content: Schema.optional(Schema.Unknown)
})

/** The most characters of an answer in a message. */
const longestShown = 200

/** The error for an answer. */
export const notUnderstood = (answer: unknown): NotUnderstood => ({
  _tag: "NotUnderstood",
  message: String(JSON.stringify(answer)).slice(0, longestShown)
})

/** The answer if it has the right shape. */
export const readAnswer = <A, I>(schema: Schema.Schema<A, I>): (answer: unknown) => Effect.Effect<A, NotUnderstood> => {
  const decode = Schema.decodeUnknownEither(schema)
  return (answer) => Either.mapLeft(decode(answer), () => notUnderstood(answer))
}
