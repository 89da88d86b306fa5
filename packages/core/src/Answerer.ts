/** Who answers the questions of trees, what rules leave open and what models ask, and how a refusal is reported. */
import type { SessionID } from "@skein/domain/Id"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"

/** The call is not permitted. The model reads `message`. */
export class PermissionDenied extends Schema.TaggedError<PermissionDenied>()("PermissionDenied", {
  permission: Schema.String,
  patterns: Schema.Array(Schema.String),
  /**
   * `rule`: a rule denies it; `nobody`: it needs a person and there is none; `rejected`: a person rejected it; `hook`:
   * a hook refused it, or failed.
   */
  by: Schema.Literal("rule", "nobody", "rejected", "hook"),
  /** Whether it ends the session's turn: a person rejected it without a reason. */
  endsTurn: Schema.Boolean,
  message: Schema.String
}) {}

/** No such question waits for an answer. */
export class PermissionNotFound extends Schema.TaggedError<PermissionNotFound>()("PermissionNotFound", {
  id: Schema.String,
  message: Schema.String
}) {}

/** No such question waits for an answer. */
export class QuestionNotFound extends Schema.TaggedError<QuestionNotFound>()("QuestionNotFound", {
  id: Schema.String,
  message: Schema.String
}) {}

/** The error for a question that is not open. */
export const notWaiting = (id: string) =>
  new QuestionNotFound({ id, message: `No question ${id} waits for an answer; it may have been answered.` })

/** A question has no answer, and will not get one. */
export class Unanswered extends Schema.TaggedError<Unanswered>()("Unanswered", {
  reason: Schema.Literal(
    /** Nobody can be asked here. */
    "nobody",
    /** The person dismissed it. */
    "dismissed",
    /** A day went by. */
    "expired"
  ),
  message: Schema.String
}) {}

/** The error if nobody can answer. */
export const nobody = new Unanswered({ reason: "nobody", message: "Nobody can be asked here." })

/** `person`: somebody watches the bus and replies; `nobody`: questions are denied; `auto`: questions are allowed. */
export type Asks = "person" | "nobody" | "auto"

/** How to answer questions that the rules leave open. */
export interface PermissionOptions {
  /** Who answers for trees without their own setting; see `Answerer.set`. */
  readonly asks: Asks
  /** All working trees of the repository of a root, as they are now: a rule that denies or asks holds in all. */
  readonly checkouts?: (root: string) => ReadonlyArray<string>
  /** Stands for `~/` and `$HOME` in patterns. */
  readonly home?: string
  /** Resolves the links of an absolute path, also of what does not exist; by default, paths are taken as they are. */
  readonly real?: (path: string) => string
}

/** Who answers. */
export class Answerer extends Context.Tag("@skein/core/Answerer")<Answerer, {
  /** Who currently answers the questions of a tree. */
  readonly of: (rootID: SessionID) => Asks
  /** Whether that was set for the tree. */
  readonly isSet: (rootID: SessionID) => boolean
  /** Sets who answers the questions of a tree until the scope closes. The latest setting wins. */
  readonly set: (rootID: SessionID, asks: Asks) => Effect.Effect<void, never, Scope.Scope>
}>() {
  /** `asks` is the default for trees without their own setting. */
  static readonly layer = (asks: Asks = "nobody"): Layer.Layer<Answerer> =>
    Layer.sync(Answerer, () => {
      const trees = new Map<SessionID, ReadonlyArray<{ readonly asks: Asks }>>()
      return {
        of: (rootID) => trees.get(rootID)?.at(-1)?.asks ?? asks,
        isSet: (rootID) => trees.has(rootID),
        set: (rootID, given) =>
          Effect.asVoid(Effect.acquireRelease(
            Effect.sync(() => {
              const mine = { asks: given }
              trees.set(rootID, [...trees.get(rootID) ?? [], mine])
              return mine
            }),
            (mine) =>
              Effect.sync(() => {
                const left = (trees.get(rootID) ?? []).filter((each) => each !== mine)
                if (left.length > 0) trees.set(rootID, left)
                else trees.delete(rootID)
              })
          ))
      }
    })

  /** Sets who answers the questions of a tree until the scope closes. */
  static readonly set = (rootID: SessionID, asks: Asks) =>
    Effect.flatMap(Answerer, (answerer) => answerer.set(rootID, asks))
}
