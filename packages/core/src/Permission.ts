/** Owns what is permitted: decides each call by the rules, and asks a person if they say so. */
import type { PermissionReply, PermissionRequest } from "@skein/domain/Event"
import type { PermissionID, SessionID } from "@skein/domain/Id"
import type { Action, Ruleset } from "@skein/domain/Rule"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as FiberSet from "effect/FiberSet"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import type { PermissionDenied, PermissionNotFound, PermissionOptions } from "./Answerer.ts"
import { Bus } from "./Bus.ts"
import type { Hooks } from "./Hooks.ts"
import { makeBroker } from "./internal/permission/broker.ts"
import type { AskingCall, Caller, Subject } from "./Ruleset.ts"
import type { StorageError } from "./StorageError.ts"
import type { PermissionAsk } from "./Tool.ts"
import type { Approval } from "./Write.ts"

export type { PermissionOptions } from "./Answerer.ts"
export type { Subject } from "./Ruleset.ts"

/** How a function answers a question: once, for all like it in the tree, or with a reason why not, which the model reads. */
export type PermissionAnswer = "once" | "always" | { readonly deny: string }

/** Allows one call. */
export const Allow: PermissionAnswer = "once"

/** Allows one call, and all like it in its tree. */
export const AllowAlways: PermissionAnswer = "always"

/** Refuses a call: the model reads why, and continues. */
export const Deny = (reason: string): PermissionAnswer => ({ deny: reason })

type Places = Pick<PermissionOptions, "checkouts" | "home" | "real">

type BrokerServices = Exclude<Effect.Effect.Context<ReturnType<typeof makeBroker>>, Scope.Scope>

/** Answers each question by a function, until the scope closes. */
const answering = Effect.fnUntraced(function*(
  reply: typeof Permission.Service.reply,
  answer: (ask: PermissionRequest) => Effect.Effect<PermissionAnswer, never, unknown>
) {
  const run = yield* FiberSet.makeRuntime<unknown>()
  const answered = (ask: PermissionRequest) =>
    answer(ask).pipe(
      Effect.catchAllDefect((defect) =>
        Effect.as(Effect.logError("The answer to a question of permission died", defect), Deny("It was not decided."))
      ),
      Effect.flatMap((given) =>
        typeof given === "string" ? reply(ask.id, given) : reply(ask.id, "reject", { message: given.deny })
      ),
      Effect.catchAll(({ message }) => Effect.logWarning("The answer to a question of permission was lost", message))
    )
  yield* (yield* Bus).listen({ all: true, deltas: false }, (event) => {
    if (event.type === "permission.asked") run(answered(event.properties))
  })
})

/** The permission service. */
export class Permission extends Context.Tag("@skein/core/Permission")<Permission, {
  /**
   * What the rules say: the strictest of agent and ceilings, over all patterns. Stored approvals lift `ask`, never
   * `deny`. `decidedBy` gets the rules that decided so; none if nobody wrote one.
   */
  readonly decide: (
    subject: Subject,
    tool: Caller,
    ask: PermissionAsk,
    decidedBy?: (rules: Ruleset) => void
  ) => Effect.Effect<Action, StorageError>
  /** Whether rules deny some of it, whatever is approved. */
  readonly denies: (subject: Subject, tool: Caller, ask: PermissionAsk) => boolean
  /** Ends when the call is permitted. A person has 24 hours to answer. The hooks are those of the caller's project. */
  readonly authorise: (
    subject: Subject,
    tool: Caller,
    ask: PermissionAsk,
    call?: AskingCall
  ) => Effect.Effect<void, PermissionDenied | StorageError, Hooks>
  /** The same rules as they hold on this machine, by the paths that they mean in the session's directory. */
  readonly atHome: (subject: Subject) => Subject
  /** Returns a function that says whether the current rules and approvals allow reading a file. */
  readonly readAction: (subject: Subject) => Effect.Effect<(path: string) => Action, StorageError>
  /** Whether any call of a tool may ever be permitted: models are not offered tools that are always denied. */
  readonly offered: (subject: Subject, tool: Caller) => boolean
  /**
   * Answers a question once, and checks all others of its tree again. `always` stores the patterns that the question
   * offers; for the tree if no scope is named.
   */
  readonly reply: (
    id: PermissionID,
    reply: PermissionReply,
    options?: { readonly message?: string; readonly scope?: "tree" | "project" }
  ) => Effect.Effect<void, PermissionNotFound | StorageError>
  /** Answers the open questions of a tree that its rules, approvals or mode decide now. */
  readonly reconsider: (rootID: SessionID) => Effect.Effect<void, StorageError>
  /** The open questions, oldest first. */
  readonly pending: (rootID?: SessionID) => Effect.Effect<ReadonlyArray<PermissionRequest>>
  /** The approvals of a project: all, or those that apply to one of its trees, tree-wide or project-wide. */
  readonly approvals: (
    projectID: string,
    rootID?: SessionID
  ) => Effect.Effect<ReadonlyArray<Approval>, StorageError>
  /** Revokes an approval: the next decision of any process ignores it. */
  readonly revoke: (projectID: string, id: string) => Effect.Effect<void, PermissionNotFound | StorageError>
}>() {
  /** Decides by rules, and passes questions to the `Answerer` of each tree. */
  static layer(options?: Places): Layer.Layer<Permission, never, BrokerServices>
  /**
   * Decides by rules, and answers what they leave open by a function, as a person would: for `Skein.layer({ permission })`. A
   * function that dies refuses.
   */
  static layer<R>(
    answer: (ask: PermissionRequest) => Effect.Effect<PermissionAnswer, never, R>,
    options?: Places
  ): Layer.Layer<Permission, never, BrokerServices | Bus | R>
  static layer(
    how: Places | ((ask: PermissionRequest) => Effect.Effect<PermissionAnswer, never, unknown>) = {},
    options: Places = {}
  ): Layer.Layer<Permission, unknown, unknown> {
    return Layer.scoped(
      Permission,
      typeof how === "function"
        ? Effect.tap(makeBroker(options), (permission) => answering(permission.reply, how))
        : makeBroker(how)
    )
  }

  /** Answers a question. */
  static readonly reply = (
    id: PermissionID,
    reply: PermissionReply,
    options?: { readonly message?: string; readonly scope?: "tree" | "project" }
  ) => Effect.flatMap(Permission, (permission) => permission.reply(id, reply, options))

  /** The approvals of a project, or those that apply to one of its trees. */
  static readonly approvals = (projectID: string, rootID?: SessionID) =>
    Effect.flatMap(Permission, (permission) => permission.approvals(projectID, rootID))

  /** Takes an approval back. */
  static readonly revoke = (projectID: string, id: string) =>
    Effect.flatMap(Permission, (permission) => permission.revoke(projectID, id))
}
